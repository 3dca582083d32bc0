"""The self-test of events: it passes the record of the known server, and fails one with any wrong figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from event_runs import event, write_events
from make_plans import MATRIX

from bench.core.errors import UserError
from bench.events.exhausted.cases import IN_POOL, THREADS_TAKEN
from bench.plan.event import NO_CASE
from bench.records.event import Action, EventRecord, Fate, GrowthSample
from calibration.checks import Known
from calibration.events import APP, events, known_of, report


def known(app: str) -> Known:
    """The behaviour of a server in services/selftests.toml."""
    return known_of(MATRIX.selftests[app].environment["BAD_DAY"] or "")


KNOWN = known(APP)
"""The behaviour of the server in scripts/selftest.sh."""


def acted(record: EventRecord, changes: Mapping[str, Any], app: str = APP, **usual: Any) -> EventRecord:
    """The record as one of a self-test's app in a window of 10 s; `changes` replace what is usual."""
    return replace(record, **{"framework": app, "window_s": 9.99, **usual, **changes})


def reload(**changes: Any) -> EventRecord:
    extras, service = {"new_code_s": 1.56, "swapped_s": 1.7}, f"uvicorn-{APP}-py313-debian"
    return acted(event(lost=int(KNOWN.drops)), changes, service=service, longest_gap_s=1.6, extras=extras)


def stop(**changes: Any) -> EventRecord:
    extras = {"under_way": 6, "long_fate": "reset", "sent_after": 600}
    return acted(event(name="stop", sent=401, lost=6), changes, exit_s=1.52, extras=extras)


def killed(**changes: Any) -> EventRecord:
    extras = {"under_way_lost": 5, "started_s": 1.56, "restored_s": 1.6}
    return acted(event(name="killed", lost=6), changes, longest_gap_s=1.6, extras=extras)


def slow(**changes: Any) -> EventRecord:
    opened = tuple(replace(event().actions[0], what=f"{k} silent connections", at_s=k) for k in (8, 16, 32))
    extras = {"smallest_k": 32, "opened": 32, "cut": 32, "cut_after_s": 15.01}
    return acted(event(name="slow", case="silent"), changes, longest_gap_s=3.1, extras=extras, actions=opened)


LEAKS = f"{APP}-leaks"


def memory(bytes_each: float = 100, **changes: Any) -> EventRecord:
    points = tuple(GrowthSample(n * 10**5, 4e7 + bytes_each * n * 10**5 + 3e5 * (n % 2)) for n in range(10))
    usual: dict[str, Any] = {"points": points, "extras": {"requests": 10**6}, "rate": None, "timeline": ()}
    return acted(event(name="memory", case="requests"), changes, LEAKS, **usual)


def reloads(files: float = 2, **changes: Any) -> EventRecord:
    points = tuple(GrowthSample(number, 40 + files * number) for number in range(21))
    lost = 20 * int(KNOWN.drops)
    return acted(event(name="memory", case="20 reloads", lost=lost), changes, points=points, extras={"reloads": 20})


def balance(first: int = 45, share: float = 0.7, **changes: Any) -> EventRecord:
    extras = {"connections_1": first, "connections_2": 7, "connections_3": 6, "connections_4": 6, "workers": 4}
    return acted(event(name="balance", case="64 kept-alive"), changes, LEAKS, extras=extras | {"worst_share": share})


NEEDS = f"{APP}-none"


def exhausted(**changes: Any) -> EventRecord:
    extras = {"wait_2_s": 1.501, "wait_3_s": 1.503, "wait_4_s": 3.002, "wait_6_s": 3.01}
    extras |= {"failing_k": 3, "needs_lost": 0}
    record = event(name="exhausted", case=IN_POOL, sent=1900, lost=60)
    return acted(record, {}, NEEDS, window_s=18.99, extras=extras | changes)


def away(lost: int = 102, sent: int = 106, **changes: Any) -> EventRecord:
    actions = (Action("upstream stopped", 3.0, 0.3), Action("upstream started again", 8.0, 0.5))
    extras = {"needs_meanwhile": sent, "needs_lost_meanwhile": lost, "needs_lost_before": 0, "needs_lost_after": 0}
    extras |= {"away_s": 5.5, "again_s": 0.04} | changes
    return acted(event(name="away", case="upstream stopped"), {}, NEEDS, actions=actions, extras=extras)


def missed(record: EventRecord, *apps: str) -> set[str]:
    """The figures of a record that are not those of the apps."""
    text, holds = report([record], {app: known(app) for app in apps})
    assert not holds
    return {line.split(" | ")[2] for line in text.splitlines() if line.endswith("MISSED |")}


def test_a_pool_and_an_upstream_that_is_away_hold() -> None:
    beside = replace(exhausted(failing_k=None), id="beside", case=THREADS_TAKEN, fates={Fate.ANSWERED: 1900})
    text, holds = report([exhausted(), beside, replace(away(), id="away")], {NEEDS: known(NEEDS)})
    assert holds, text
    for record, figures in (
        (exhausted(failing_k=4), {"fewest waiting requests beside which one fails"}),
        (exhausted(wait_4_s=1.6), {"the longest of 4 waits"}),
        (away(lost=93), {"lost meanwhile"}),
        (away(needs_lost_after=1), {"lost after"}),
        (away(again_s=None), {"answered again after"}),
    ):
        assert missed(record, NEEDS) == figures


def test_what_leaks_and_is_uneven_holds() -> None:
    records = [memory(), reloads(), balance()]
    named = [replace(one, id=str(number)) for number, one in enumerate(records)]
    text, holds = report(named, {APP: KNOWN, LEAKS: known(LEAKS)})
    assert holds, text
    for record, figures in (
        (memory(80), {"growth"}),
        (memory(0), {"growth"}),
        (reloads(3), {"growth"}),
        (reloads(extras={"reloads": 19}), {"reloads", "lost requests"}),
        (balance(share=0.5), {"requests to it"}),
        (balance(first=40), {"connections to one worker"}),
    ):
        assert figures <= missed(record, APP, LEAKS)


def test_what_the_server_does_holds() -> None:
    text, holds = report([reload(), stop(), killed(), slow()], {APP: KNOWN})
    assert holds, text
    assert f"| {APP} | reload, keep-alive | lost requests | 7 | 7 | holds |" in text.splitlines()


def seen(record: EventRecord, **extras: Any) -> EventRecord:
    """The record with other figures of its own."""
    return replace(record, extras={**record.extras, **extras})


SWAPPED = {"until the new code answers", "until all workers are others"}
WRONG = {
    "one more lost": (reload(fates={Fate.ANSWERED: 992, Fate.RESET: 8}), {"lost requests", "of these, reset"}),
    "one less lost": (reload(fates={Fate.ANSWERED: 994, Fate.RESET: 6}), {"lost requests", "of these, reset"}),
    "another fate": (reload(fates={Fate.ANSWERED: 993, Fate.REFUSED: 7}), {"of these, reset"}),
    "a request without a line": (reload(sent=999, fates={Fate.ANSWERED: 992, Fate.RESET: 7}), {"requests in the log"}),
    "back too soon": (reload(extras={"new_code_s": 1.4, "swapped_s": 0.1}), SWAPPED),
    "never back": (reload(extras={"new_code_s": None, "swapped_s": None}), SWAPPED),
    "an outage": (reload(longest_gap_s=2.3), {"longest outage"}),
    "not reloaded": (reload(happened=False), {"window counts"}),
    "cut, and not counted": (seen(stop(fates={Fate.ANSWERED: 401}), under_way=1), {"lost requests"}),
    "one of them twice": (seen(stop(), under_way=5), {"lost requests"}),
    "the long one was answered": (seen(stop(), long_fate="answered"), {"fate of the response that takes 5 s"}),
    "ended late": (stop(exit_s=2.4), {"until it ended"}),
    "a restart unseen": (seen(killed(), started_s=0.05), {"until a new worker starts"}),
    "an answer unseen": (seen(killed(), started_s=1.6, restored_s=None), {"until it answers"}),
    "refused": (killed(fates={Fate.ANSWERED: 994, Fate.RESET: 5, Fate.REFUSED: 1}), {"of these, refused or timed out"}),
    "stopped by fewer": (seen(slow(), smallest_k=16), {"fewest slow connections that stop service"}),
    "left open": (seen(slow(), cut=31), {"slow connections that were closed"}),
    "closed early": (seen(slow(), cut_after_s=14.9), {"after"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_it_does_not_do_is_missed(case: str) -> None:
    record, figures = WRONG[case]
    assert missed(record, APP) == figures


def test_each_server_is_held_to_what_it_does_itself() -> None:
    both = {APP: KNOWN, f"{APP}-other": known(f"{APP}-other")}
    mixed_up = replace(reload(), id="other", framework=f"{APP}-other")
    text, holds = report([reload(), mixed_up], both)
    lines = [line for line in text.splitlines() if line.endswith("MISSED |")]
    assert not holds and lines and all(line.startswith(f"| {APP}-other |") for line in lines)


def test_a_run_is_read_and_one_of_other_services_is_refused(tmp_path: Path) -> None:
    assert events([str(write_events(tmp_path / "known", [reload()]))])[1]
    with pytest.raises(UserError, match="has no event of synthetic-bad-day"):
        events([str(write_events(tmp_path / "other", [event()]))])


def test_containers_that_are_replaced_and_idle_connections_are_held_to_what_is_known() -> None:
    ends = {f"exit_{number}_s": KNOWN.exit_s + 0.1 for number in (1, 2)} | {"killed_1": False, "killed_2": False}
    rolled = replace(stop(), id="rolled", event="rolling", window_s=9.99, sent=1000, fates={Fate.ANSWERED: 1000})
    held = {"held": 0, "idle_s": KNOWN.idle_s + 0.01}
    closes = replace(reload(), id="closes", event="idle-close", case=NO_CASE, extras=held)
    assert report([replace(rolled, extras=ends), closes], {APP: KNOWN})[1]
    for wrong in (
        replace(rolled, extras=ends | {"exit_2_s": KNOWN.exit_s + 2}),
        replace(rolled, extras=ends | {"killed_1": True}),
        replace(rolled, extras=ends, fates={Fate.ANSWERED: 999, Fate.OTHER_STATUS: 1}),
        replace(closes, extras={"held": 1, "idle_s": KNOWN.idle_s}),
        replace(closes, extras={"held": 0, "idle_s": KNOWN.idle_s - 1}),
        replace(closes, fates={Fate.ANSWERED: 1000}),
    ):
        assert not report([wrong], {APP: KNOWN})[1], wrong
