"""The mutants of `scripts/test.sh mutation` still apply to the code: if code changes, its mutant must change, too."""

from __future__ import annotations

import pytest
from places import ROOT

from tests.mutation.__main__ import MUTANTS, Mutant, OutOfDateError, mutated


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_one_change_of_valid_code_and_has_tests(mutant: Mutant) -> None:
    assert mutated(ROOT, mutant) != (ROOT / mutant.file).read_text()
    assert mutant.tests and all((ROOT / test).exists() for test in mutant.tests)


OUT_OF_DATE = [
    ("bench/plan/order.py", "no such text", ""),
    ("bench/plan/order.py", "plan", ""),
    ("bench/plan/no_such_file.py", "rng", ""),
    ("bench/plan/order.py", "rng.shuffle(units)", "rng.shuffle(units"),
    ("scripts/lib/common.sh", "usage() {", "usage() "),
]


@pytest.mark.parametrize(("file", "old", "new"), OUT_OF_DATE)
def test_a_pattern_that_is_gone_or_not_clear_and_broken_code_are_errors(file: str, old: str, new: str) -> None:
    with pytest.raises(OutOfDateError):
        mutated(ROOT, Mutant("name", file, old, new, ()))


def test_there_are_twenty() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == 20
