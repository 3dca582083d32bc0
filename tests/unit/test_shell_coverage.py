"""Line coverage of bash: which lines count, and which of them a trace has."""

from __future__ import annotations

from pathlib import Path

import shell_coverage
from shell_coverage import commands, executed, report, the_loop, traced_lines

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


def test_a_line_for_each_file_and_the_total() -> None:
    lines = [*report(["scripts/lib/common.sh"], {"scripts/lib/common.sh": set(range(1, 999))})]
    assert lines[0].startswith("#   100% scripts/lib/common.sh (")
    assert lines[1].startswith("# line coverage of the measuring loop in bash: 100% (")
