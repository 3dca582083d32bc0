"""A damaged matrix.toml or .env: names and settings are valid, or one line says what is wrong."""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from fuzz import as_bytes, damaged_text, damaged_value, fuzz
from hypothesis import strategies as st
from inline_toml import as_file
from places import ROOT

from bench.__main__ import main
from bench.core.errors import UserError, one_line
from bench.matrix.load import read_tables
from bench.matrix.settings import allowed, read_settings

MATRIX = read_tables(ROOT / "services/matrix.toml")[0]
ENV = (ROOT / ".env").read_text()
FEW = {"servers": ("uvicorn", "bjoern"), "frameworks": ("asgi", "wsgi"), "pythons": ("3.13",)}
FEW |= {"selftests": ("synthetic",), "presets": ("all",)}
FEW["routes"] = ("root", "delay", "plaintext", "json", "echo", "ws-echo", "sse")
"""The entries to keep of each table, so that an example takes a millisecond."""
SMALL = {key: {name: value[name] for name in FEW[key]} if key in FEW else value for key, value in MATRIX.items()}
QUICK = {"stacks": ["bjoern-wsgi", "uvicorn-asgi"], "vary": [], "vary_if_read": []}
SMALL["presets"]["quick"] = MATRIX["presets"]["workers"] | QUICK
SMALL |= {"skip": MATRIX["skip"][:2], "sources": {"robyn": MATRIX["sources"]["robyn"]}}
SMALL |= {"order": {"servers": ["uvicorn"]}, "notes": {"bjoern": {"default": "1 request", "source": "bjoern 3.2"}}}
SMALL["server_defaults"] = {"backlog": [{"servers": ["uvicorn*"], "value": "2048", "source": "uvicorn.dev"}]}


def listed(matrix: str, words: list[str]) -> tuple[int, str, str]:
    """Exit status, output and errors of the verb `list` with this matrix.toml."""
    out, errors = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "services").mkdir()
        (Path(folder) / "services/matrix.toml").write_bytes(as_bytes(matrix))
        (Path(folder) / ".env").write_text(ENV)
        with chdir(folder), redirect_stdout(out), redirect_stderr(errors):
            status = main(["list", *words])
    return status, out.getvalue(), errors.getvalue()


TEXTS = st.one_of(damaged_value(SMALL).map(as_file), damaged_text(as_file(SMALL)))
SOLO = ["--scenario", "delay-20,echo", "--tool", "hey", "--mode", "solo"]
SELECTIONS = (["--stack", "*"], ["--preset", "quick"], SOLO)


def test_the_small_matrix_is_one() -> None:
    assert [listed(as_file(SMALL), words)[0] for words in SELECTIONS] == [0] * len(SELECTIONS)


KEPT = (
    *((f"schema = {value}\n", []) for value in ('"\u2028"', "9" * 5000, "[" * 5000)),
    (as_file(SMALL | {"routes": {"json": SMALL["routes"]["json"]}}), ["--stack", "*"]),
)


@fuzz(st.tuples(TEXTS, st.sampled_from(SELECTIONS)), examples=60, kept=KEPT)
def test_fuzz_a_damaged_matrix(case: tuple[str, list[str]]) -> None:
    status, out, errors = listed(*case)
    if status == 2:
        assert re.fullmatch(r"bench: [^\n]+\n", errors) and out == ""
        assert errors[:-1].isprintable() and len(errors) < 1020
        return
    assert status == 0 and all(line.isprintable() for line in out.split("\n"))


@fuzz(st.one_of(damaged_text(ENV), damaged_text("WORKERS=2\nSEED=1\n")), examples=150, kept=["WORKERS=\ud800\n"])
def test_fuzz_a_damaged_env(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".env").write_bytes(as_bytes(text))
        try:
            found = read_settings({}, Path(folder))
        except UserError as error:
            assert one_line(error).isprintable() and len(one_line(error)) < 1020
            return
    assert found.keys() == allowed("settings").keys()
    for name, (pattern, _) in allowed("settings").items():
        assert re.fullmatch(pattern, found[name], re.ASCII) and "\n" not in found[name]
