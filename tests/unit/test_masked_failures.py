"""The check of the static stage that finds failures which bash hides."""

from __future__ import annotations

from pathlib import Path

import pytest
from masked_failures import main

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
    ["if f; then :; fi", "f && echo", "! f", "until f; do :; done", "attend f || status=$?", "{ cp a b; f; } || exit"],
)
def test_every_kind_of_condition(call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(f'attend() {{ "$@"; }}\nf() {{\n\tcp a b\n\techo\n}}\n{call}\n', tmp_path, capsys)


@pytest.mark.parametrize(
    "line", ["read -r x < <(f)", "local x=$(f)", 'echo "$(f)"', 'cat <<<"$(f)"', "a=$(f) b=$(f)", 'x=("$(f)" "$(f)")']
)
def test_a_status_that_is_lost_with_its_output(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(f"f() {{ cp a b; }}\ng() {{\n\t{line}\n}}\n", tmp_path, capsys)
    assert found == ["3: the status of 'f' is lost: assign its output first"]


@pytest.mark.parametrize(
    "text",
    [
        "f() {\n\tcp a b || return\n\tlocal x\n\tx=$(cp c d) || return\n\tcp e f\n}\nif f; then :; fi\n",
        "f() {\n\tcp a b\n\tcp c d\n}\nf\n[[ $x ]] || f\n",
        "f() {\n\t# failure ignored: it is only a log\n\tcp a b\n\tcp c d\n}\nf || exit\n",
        'words() { printf "%s" words; }\necho "$(words)" "$(nproc)"\n',
        "x=$(f)\nf() { cp a b; }\n",
    ],
)
def test_what_hides_nothing(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(text, tmp_path, capsys) == []


def test_what_bats_runs_is_left_out_and_no_other_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hides = "f() {\n\tcp a b\n\tcp c d\n}\nif f; then :; fi\n"
    for name in ("some.bats", "common.bash", "nodes.sh", "faults/moment.bash"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(hides)
    assert main([str(tmp_path / name) for name in ("some.bats", "common.bash")]) == 0
    capsys.readouterr()
    assert main([str(tmp_path / name) for name in ("nodes.sh", "faults/moment.bash")]) == 1
    assert {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()} == {
        str(tmp_path / "nodes.sh"),
        str(tmp_path / "faults/moment.bash"),
    }
