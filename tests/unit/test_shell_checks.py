"""The checks of shell scripts: failures that bash hides, line coverage, and shellcheck that follows each file once."""

from __future__ import annotations

from pathlib import Path

import pytest
import shell_coverage
import shellcheck_once
from masked_failures import main
from shell_coverage import commands, executed, report, the_loop, traced_lines
from text_files import written

LOOP = """
measure_all() {
	local steps
	while steps=$(report steps "$run") && [[ $steps ]] && measure_round "$steps"; do :; done
}
measure_round() {
	save "$dir/meta.json" <<<"$1"
	end_line
}
end_line() { echo; }
"""


def findings(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    file = tmp_path / "script.sh"
    file.write_text(text)
    status = main([str(file)])
    lines = capsys.readouterr().out.replace(f"{file}:", "").splitlines()
    assert status == bool(lines)
    return lines


def test_a_loop_in_a_condition_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [found] = findings(LOOP, tmp_path, capsys)
    assert found.startswith("4: measure_round is called in a condition and loses a failure of 'save ")


def test_what_the_function_calls_is_looked_at_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [found] = findings("one() { two; }\ntwo() {\n\tcp a b\n\techo done\n}\none || exit\n", tmp_path, capsys)
    assert found.startswith("6: one is called in a condition")


@pytest.mark.parametrize(
    "call",
    ["if f; then :; fi", "f && echo", "! f", "until f; do :; done", "check n f || status=$?", "{ cp a b; f; } || exit"],
)
def test_every_kind_of_condition(call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(f'check() {{ "${{@:2}}"; }}\nf() {{\n\tcp a b\n\techo\n}}\n{call}\n', tmp_path, capsys)


@pytest.mark.parametrize(
    "line", ["read -r x < <(f)", "local x=$(f)", 'echo "$(f)"', 'cat <<<"$(f)"', "a=$(f) b=$(f)", 'x=("$(f)" "$(f)")']
)
def test_a_status_that_is_lost_with_its_output(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(f"f() {{ cp a b; }}\ng() {{\n\t{line}\n}}\n", tmp_path, capsys)
    assert found == ["3: the status of 'f' is lost: assign its output first"]


HIDES_NOTHING = [
    "f() {\n\tcp a b || return\n\tlocal x\n\tx=$(cp c d) || return\n\tcp e f\n}\nif f; then :; fi\n",
    "f() {\n\tcp a b\n\tcp c d\n}\nf\n[[ $x ]] || f\n",
    "f() {\n\t# failure ignored: it is only a log\n\tcp a b\n\tcp c d\n}\nf || exit\n",
    'words() { printf "%s" words; }\necho "$(words)" "$(nproc)"\n',
    "x=$(f)\nf() { cp a b; }\n",
]


@pytest.mark.parametrize("text", HIDES_NOTHING)
def test_what_hides_nothing(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(text, tmp_path, capsys) == []


def test_what_bats_runs_is_left_out_and_no_other_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_bats, others = ("some.bats", "common.bash"), ("nodes.sh", "faults/moment.bash")
    written(tmp_path, dict.fromkeys((*of_bats, *others), "f() {\n\tcp a b\n\tcp c d\n}\nif f; then :; fi\n"))
    assert main([str(tmp_path / name) for name in of_bats]) == 0
    capsys.readouterr()
    assert main([str(tmp_path / name) for name in others]) == 1
    found = {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert found == {str(tmp_path / name) for name in others}


SCRIPT = """\
# A comment.
f() {
	if [[ $1 ]]; then
		echo one
	else
		printf '%s\\n' \\
			two
	fi
}
f "$@"
"""


def test_lines_on_which_a_command_starts_count() -> None:
    assert commands(SCRIPT) == {3: 3, 4: 4, 6: 7, 10: 10}


def test_a_command_of_several_lines_is_executed_where_the_trace_has_one_of_them() -> None:
    assert executed(commands(SCRIPT), {3, 7, 10, 99}) == {3, 6, 10}
    assert executed(commands(SCRIPT), set()) == set()


def test_the_loop_is_what_its_scripts_source() -> None:
    loop = the_loop()
    assert {"scripts/matrix.sh", "scripts/lib/common.sh", "loadgen/bench"} <= {*loop}
    assert "tests/lib/testing.sh" not in loop


def test_traces_of_all_processes_are_one(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("+scripts/lib/common.sh:3:echo 'a\n+not:a:trace'\n++scripts/lib/common.sh:4:x\n")
    (tmp_path / "2").write_text(f"+{shell_coverage.ROOT}/tests/shell/../../scripts/lib/common.sh:5:y\n+:9:z\n")
    assert traced_lines(tmp_path) == {"scripts/lib/common.sh": {3, 4, 5}}


def test_a_line_for_each_file_and_the_total_which_fails_if_it_is_too_little() -> None:
    file, total = report(["scripts/lib/common.sh"], {"scripts/lib/common.sh": set(range(1, 999))})
    assert file.startswith("#   100% scripts/lib/common.sh (")
    assert total.startswith("# line coverage of the measuring loop in bash: 100% (")
    _, total = report(["scripts/lib/common.sh"], {})
    assert total.startswith("not ok - line coverage of the measuring loop in bash: 0% (")


ENTRY = """#!/usr/bin/env bash
# shellcheck source=lib/a.sh
source lib/a.sh
# shellcheck source=lib/b.sh
source lib/b.sh
say "$name"
"""
FROM_B = '# shellcheck shell=bash\n# shellcheck source=lib/b.sh\nsource lib/b.sh\nsay() { echo "$1"; }\n'
SETS_NAME = "# shellcheck shell=bash\n# shellcheck source=lib/a.sh\nsource lib/a.sh\nname=one\n"


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """entry.sh sources a.sh and b.sh, which source each other."""
    monkeypatch.chdir(written(tmp_path, {"entry.sh": ENTRY, "lib/a.sh": FROM_B, "lib/b.sh": SETS_NAME}))
    return tmp_path


def test_a_file_is_followed_where_bash_comes_to_it_first(scripts: Path) -> None:
    texts = shellcheck_once.followed_once("entry.sh")
    assert list(texts) == ["entry.sh", "lib/a.sh", "lib/b.sh"]
    assert texts["lib/a.sh"] == FROM_B
    assert texts["lib/b.sh"] == SETS_NAME.replace("source=lib/a.sh", "source=/dev/null")
    assert texts["entry.sh"] == ENTRY.replace("source=lib/b.sh", "source=/dev/null")


def test_what_a_sourced_file_sets_is_known(scripts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shellcheck_once.main(["entry.sh", "lib/a.sh"]) == 0
    assert capsys.readouterr().out == ""


def test_a_finding_has_its_file_and_line_and_fails(scripts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scripts / "lib" / "a.sh").write_text(FROM_B + "echo $never_set\n")
    assert shellcheck_once.main(["entry.sh", "lib/a.sh"]) == 1
    out = capsys.readouterr().out
    assert "In lib/a.sh line 5:" in out and "SC2154" in out
