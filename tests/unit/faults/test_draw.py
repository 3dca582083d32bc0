"""The moments of faults in a fault run: determined by the seed, with every subject and phase in turn."""

from __future__ import annotations

import pytest

from bench.core.errors import UserError
from tests.faults.draw import PHASES, SUBJECTS, Phase, draw, phases_of

CAME = "plan 1,build 900,up 2000,verify 4000,load 9000,write 17000,load 17100,write 25000,report 25300,end 26000"
UNCUT = CAME.replace(",", "\n")
THIRTY = draw(7, 30, phases_of(UNCUT))


def test_a_phase_has_its_mean_length_and_comes_so_often() -> None:
    phases = phases_of(UNCUT)
    assert phases["load"] == Phase(2, (8000 + 7900) // 2) and phases["write"] == Phase(2, 200)
    assert set(phases) == set(PHASES)


def test_thirty_moments_hit_every_subject_and_every_phase() -> None:
    assert {moment.subject for moment in THIRTY} == set(SUBJECTS)
    assert {moment.phase for moment in THIRTY} == set(PHASES)
    assert [moment.number for moment in THIRTY] == list(range(1, 31))


def test_a_moment_is_where_its_subject_is_and_within_its_phase() -> None:
    phases = phases_of(UNCUT)
    for moment in THIRTY:
        assert moment.phase in SUBJECTS[moment.subject]
        assert 1 <= moment.entry <= phases[moment.phase].times and 0 <= moment.ms < phases[moment.phase].ms


def test_a_seed_gives_the_same_moments_and_another_one_others() -> None:
    phases = phases_of(UNCUT)
    assert draw(7, 30, phases) == THIRTY != draw(8, 30, phases)


def test_some_subjects_only() -> None:
    assert {moment.subject for moment in draw(1, 9, phases_of(UNCUT), ("postgres", "daemon"))} == {"postgres", "daemon"}
    with pytest.raises(UserError, match="unknown subject 'host'"):
        draw(1, 9, phases_of(UNCUT), ("host",))
