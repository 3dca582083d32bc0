"""Known vulnerabilities of pins, with a fake pip-audit."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, printed
from places import ROOT

from bench.cli.matrix import audit_verb
from bench.core.errors import UserError
from bench.matrix.audit import pins
from bench.matrix.packages import pins_in

# Reports what answers.json has for a pin, and other pins as unknown, like the real one. A name may only occur once.
PIP_AUDIT = """#!{python}
import json, sys
from pathlib import Path
assert sys.argv[1:-1] == "--disable-pip --no-deps --progress-spinner off --format json --requirement".split()
answers = json.loads(Path(__file__).with_name("answers.json").read_text())
if isinstance(answers, str):
    sys.exit("WARNING: something\\n" + answers)
pins = [line.split("==") for line in Path(sys.argv[-1]).read_text().splitlines()]
assert len({{name for name, _ in pins}}) == len(pins)
known = [{{"name": n, "version": v, "vulns": answers[f"{{n}}=={{v}}"]}} for n, v in pins if f"{{n}}=={{v}}" in answers]
others = [{{"name": n, "skip_reason": "not found"}} for n, v in pins if f"{{n}}=={{v}}" not in answers]
print(json.dumps({{"dependencies": known + others, "fixes": []}}))
sys.exit(any(one["vulns"] for one in known))
"""
FAULT = {"id": "PYSEC-1", "aliases": ["CVE-2026-1"], "fix_versions": ["3.1.3"], "description": "x"}


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a project with two locks of one app; the argument is what pip-audit reports."""
    for python, version in (("py313", "3.1.2"), ("py39", "2.9")):
        folder = tmp_path / "services/locks" / python
        folder.mkdir(parents=True)
        text = f"Flask=={version} ; python_version >= '3' \\\n    --hash=sha256:0\nruamel_yaml==0.18\n"
        (folder / "framework-flask.txt").write_text(text)
    for folder in (tmp_path / "bench", tmp_path / "tests"):
        folder.mkdir()
        (folder / "requirements.txt").write_text("pytest==9.0 \\\n    --hash=sha256:0\n")
    fake = tmp_path / "bin/pip-audit"
    fake.parent.mkdir()
    fake.write_text(PIP_AUDIT.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path / "services")
    return lambda known: fake.with_name("answers.json").write_text(json.dumps(known))


def test_all_known_and_none_with_a_fault(answers: Any, capsys: Capture) -> None:
    answers({"flask==3.1.2": [], "flask==2.9": [], "ruamel-yaml==0.18": [], "pytest==9.0": []})
    assert printed(capsys, "audit") == "4 of 4 pins looked up, 0 vulnerabilities known\n"


def test_a_fault_is_named_with_its_locks_and_what_mends_it(answers: Any, capsys: Capture) -> None:
    answers({"flask==3.1.2": [FAULT], "flask==2.9": [FAULT | {"fix_versions": []}], "ruamel-yaml==0.18": []})
    assert audit_verb(["flask"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "flask==2.9: PYSEC-1, CVE-2026-1; no version without it; in py39/framework-flask",
        "flask==3.1.2: PYSEC-1, CVE-2026-1; fixed in 3.1.3; in py313/framework-flask",
        "3 of 3 pins looked up, 2 vulnerabilities known",
    ]


def test_what_the_service_does_not_know_is_not_free_of_faults(answers: Any, capsys: Capture) -> None:
    answers({"flask==3.1.2": [], "flask==2.9": []})
    assert audit_verb(["flask"]) == 3
    counts = "2 of 3 pins looked up, 0 vulnerabilities known\n"
    assert capsys.readouterr() == (counts, "ruamel-yaml==0.18: not known to the service\n")


def test_a_service_that_is_not_reached_is_one_line(answers: Any, capsys: Capture) -> None:
    for known, words in (
        ({}, "the vulnerability service knows none of 3 pins: it is probably not reachable from here\n"),
        ("ERROR: no route", "the vulnerability service does not answer: ERROR: no route\n"),
    ):
        answers(known)
        assert audit_verb(["flask"]) == 3 and capsys.readouterr() == ("", words)


def test_a_name_without_a_lock(answers: Any) -> None:
    answers({})
    with pytest.raises(UserError, match="unknown lock 'flsk'; did you mean flask"):
        audit_verb(["flsk", "flask"])


def test_every_line_of_every_lock_is_read() -> None:
    locks = [*ROOT.glob("services/locks/*/*-*.txt"), ROOT / "bench/requirements.txt", ROOT / "tests/requirements.txt"]
    for lock in locks:
        lines = [line for line in lock.read_text().splitlines() if line[:1].isalnum()]
        assert len(pins_in(lock)) == len(lines), lock
    assert len(pins(locks)) > 200
