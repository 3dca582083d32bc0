"""services/matrix.local.toml: additions to the matrix that are not in git."""

from pathlib import Path
from shutil import copy

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.load import LOCAL, load_matrix, merged


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    return Path(copy(ROOT / "services/matrix.toml", tmp_path / "matrix.toml"))


def test_tables_are_merged_and_values_replaced() -> None:
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}
    assert merged(base, {"a": {"y": {"w": 3}, "x": 4}, "b": [2], "c": 5}) == {
        "a": {"x": 4, "y": {"z": 2, "w": 3}},
        "b": [2],
        "c": 5,
    }
    assert base == {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}


def test_a_local_file_adds_a_framework_and_changes_a_default(matrix: Path) -> None:
    before = load_matrix(matrix)
    matrix.with_name(LOCAL).write_text('[defaults]\nwarmup = 0.25\n[frameworks]\nmine = { interface = "wsgi" }\n')
    after = load_matrix(matrix)
    assert [*after.frameworks] == [*before.frameworks, "mine"]
    assert (before.presets["quick"].warmup, after.presets["quick"].warmup) == (1, 0.25)
    assert after.presets["quick"].duration == before.presets["quick"].duration
    assert {s.framework.name for s in after.services} - {s.framework.name for s in before.services} == {"mine"}


@pytest.mark.parametrize(
    ("text", "words"),
    [("[[[", "is not valid TOML"), ('[frameworks]\n"Not A Name" = { interface = "wsgi" }\n', "is not a valid matrix")],
)
def test_an_error_in_it_is_reported_with_its_name(matrix: Path, text: str, words: str) -> None:
    matrix.with_name(LOCAL).write_text(text)
    with pytest.raises(UserError, match=rf"{LOCAL} {words}"):
        load_matrix(matrix)
