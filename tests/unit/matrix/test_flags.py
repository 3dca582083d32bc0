"""Extra flags of servers (--flags): what is refused, and how they reach a command line and a plan."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from captured import refused
from make_plans import MATRIX, composed, plan
from places import ROOT
from tables import cases, rows

from bench.core.errors import EqualSides, UserError
from bench.core.service_settings import Settings
from bench.matrix.flags import ARGUMENTS, Flags, flag_groups, flag_words, flags_refusal, parse_flags, reserved
from bench.matrix.knobs import varied
from bench.matrix.start_command import START
from bench.plan.cells import Plan
from bench.run.writer import start_command, write_run

UVICORN = ("uvicorn-asgi",)
STARTS = {path.parent.name: path.read_text() for path in (ROOT / "services/servers").glob("*/start")}
SHELL = {name: text for name, text in STARTS.items() if text.startswith("#!/bin/sh")}


def flagged(*flags: str, vary: tuple[str, ...] = (), stacks: tuple[str, ...] = UVICORN, **wanted: Any) -> Plan:
    return plan(*vary, flags=tuple(map(parse_flags, flags)), stacks=stacks, scenarios=("json",), **wanted)


def test_flags_are_words_of_a_shell() -> None:
    assert parse_flags("uvicorn: --http h11") == Flags("uvicorn", "--http h11")
    assert parse_flags("gunicorn-*:--reload   --env 'A=b c'") == Flags("gunicorn-*", "--reload --env 'A=b c'")


@pytest.mark.parametrize(
    ("text", "words"), [*cases(dict(rows(__file__, "no_flags"))), (f"uvicorn: --x {'y' * 400}", "the limit is 400")]
)
def test_what_is_no_flag_is_refused_in_one_line(text: str, words: str) -> None:
    assert words in str(refused(UserError, parse_flags, text))


@pytest.mark.parametrize(("server", "flags", "words"), rows(__file__, "flags"))
def test_flags_that_a_start_needs_are_refused(server: str, flags: str, words: str) -> None:
    found = flags_refusal(STARTS[server], flags.split())
    assert str(found).startswith(words) if words else found is None


def test_every_shell_script_ends_with_the_words_and_its_program_is_known() -> None:
    assert len(SHELL) == 18
    programs = set()
    for name, text in SHELL.items():
        assert text.endswith((f" {ARGUMENTS}\n", f"\t{ARGUMENTS}\n")), name
        programs.add(re.findall(r"^exec (\w+)", text, re.MULTILINE)[0])
        # Nothing but the program reads them, in particular no `set --`.
        assert text.count("$@") == 1 and "set --" not in text
    assert programs == {*reserved()}
    for template in (ROOT / "services/templates").glob("server-*/start"):
        assert template.read_text().endswith(f" {ARGUMENTS}\n")


@pytest.mark.parametrize("server", sorted({*STARTS} - {*SHELL}))
def test_a_server_that_a_program_starts_is_refused_by_its_name(server: str) -> None:
    stack = next(s.stack for s in MATRIX.usual if s.server.name == server)
    with pytest.raises(UserError, match=rf"--flags {server}: it is started by a program of this project"):
        flagged(f"{server}: --threads 8", stacks=(stack,))


def test_each_service_of_the_server_is_measured_without_and_with_them() -> None:
    made = flagged("uvicorn: --http h11", "uv*: --loop asyncio", stacks=("uvicorn-asgi", "hypercorn-asgi"))
    of_uvicorn = [("uvicorn-asgi", f"FLAGS={flags}") for flags in ("none", "'--http h11'", "'--loop asyncio'")]
    assert [(s.stack, s.settings.text) for s in made.services] == [*of_uvicorn, ("hypercorn-asgi", "")]
    assert len({s.image for s in made.services[:3]}) == 1 and len(made.tables) == 1
    both = flagged("uvicorn: --http h11", vary=("WORKERS=1,2",))
    assert [s.settings.text for s in both.services] == [
        f"WORKERS={n} FLAGS={flags}" for n in (1, 2) for flags in ("none", "'--http h11'")
    ]


def test_flags_without_a_service_and_too_many_are_refused() -> None:
    many = [f"uvicorn: --limit-concurrency {n}" for n in range(64)]
    for flags, words in (
        (["nobody: --x"], "unknown server 'nobody'"),
        (["hypercorn: --x"], "--flags hypercorn: no service of the selection runs on it"),
        (many, "--vary and --flags make 65 combinations of each service"),
    ):
        assert words in str(refused(UserError, flagged, *flags))


SAME = "has the same command line as with"


UNCHANGED = [
    (["--loop uvloop"], f"uvicorn with FLAGS='--loop uvloop' {SAME} FLAGS=none"),
    (["--no-access-log --http=httptools"], f"{SAME} FLAGS=none"),
    (["--http h11", "--http=h11"], f"uvicorn with FLAGS=--http=h11 {SAME} FLAGS='--http h"),
]


@pytest.mark.parametrize(("flags", "words"), UNCHANGED)
def test_flags_that_change_nothing_are_equal_sides(flags: list[str], words: str) -> None:
    fault = str(refused(EqualSides, flagged, *(f"uvicorn: {one}" for one in flags)))
    assert fault.startswith("equal sides: ") and words in fault


def test_a_variable_that_only_another_flag_needs_is_equal_sides() -> None:
    with pytest.raises(EqualSides, match=r"gunicorn-sync with MAX_REQUESTS_JITTER=5 has the same command line"):
        plan("MAX_REQUESTS_JITTER=1,5", stacks=("gunicorn-sync-wsgi",))
    assert len(plan("MAX_REQUESTS=9", "MAX_REQUESTS_JITTER=1,5", stacks=("gunicorn-sync-wsgi",)).services) == 2
    # This event sets MAX_REQUESTS.
    made = plan("MAX_REQUESTS_JITTER=1,5", stacks=("gunicorn-sync-wsgi",), events=("recycle",))
    assert len(made.services) == 2


def test_groups_are_flags_with_their_values() -> None:
    groups = flag_groups(["uvicorn", "a:b", "--http=h11", "--x", "-5", "1", "--http", "h11"])
    assert groups == (("uvicorn", "a:b"), ("--http", "h11"), ("--x", "-5", "1"))


HOSTILE = ["--header", "X: $(touch /tmp/x) ${HOME} `id`; 'a' \"b\" *", "--root-path=/ü"]


def test_words_reach_compose_and_the_command_as_they_are(tmp_path: Path) -> None:
    plain = next(s for s in MATRIX.usual if s.stack == "uvicorn-asgi")
    made = varied(plain, (("WORKERS", "2"), ("FLAGS", shlex.join(HOSTILE))))
    assert dict(Settings.parse(made.settings.text)) == dict(made.settings)
    entry = composed(MATRIX, [made])[made.name]
    assert entry["environment"] == {"WORKERS": "2"}
    command = entry["command"]
    assert [word.replace("$$", "$") for word in command] == [START, *HOSTILE] and command[2].count("$$") == 2
    assert start_command(made, {})["argv"][-3:] == HOSTILE
    write_run(tmp_path, MATRIX, [made], [], {"knobs": {}, "services": {}})
    saved = json.loads((tmp_path / "raw/services" / made.name / "command.json").read_text())
    assert saved["argv"][0] == "uvicorn" and saved["argv"][-3:] == HOSTILE
    quoted = varied(plain, (("FLAGS", shlex.join(["--x=it's", "--y=\\"])),))
    assert dict(Settings.parse(quoted.settings.text)) == dict(quoted.settings)
    assert flag_words(quoted.settings) == ["--x=it's", "--y=\\"]
    none = varied(plain, (("FLAGS", "none"),))
    assert "command" not in composed(MATRIX, [none])[none.name]
    assert start_command(none, {}) == start_command(plain, {})


def test_settings_of_earlier_and_foreign_runs_are_read_as_far_as_they_go() -> None:
    text = "REF=it's WORKERS=2"
    assert dict(found := Settings.parse(text)) == {"REF": "it's", "WORKERS": "2"} and found.text == text
    assert dict(Settings.parse("FLAGS='--http h11' WORKERS=2")) == {"FLAGS": "--http h11", "WORKERS": "2"}
    assert Settings.read(None) == Settings()
