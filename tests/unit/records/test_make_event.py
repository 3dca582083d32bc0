"""The figures of an event from known raw files: what was lost, when, who caused it, and whether it counts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_run import entry

from bench.core.typed import as_plain
from bench.load.event import COLUMNS
from bench.plan.event import Event
from bench.plan.events import EVENTS
from bench.plan.measurement import Measurement, measurement_of
from bench.records.event import Action, Ended, EventRecord, Fate
from bench.records.make_event import event_record
from bench.run.reader import read_raw
from driver.messages import Action as Done

S = 10**9
Request = tuple[float, float | None, str]
"""(when it was due, how long it took (None: no end), its fate)."""
RELOAD = replace(EVENTS["reload"].cases[0], actions=(Done(3.0, "signal", "HUP", "main"),))


def steady(seconds: float, rate: int = 10, takes: float = 0.05) -> list[Request]:
    return [(number / rate, takes, "answered") for number in range(round(seconds * rate))]


def write(
    run: Path,
    event: Event,
    requests: Sequence[Request],
    *,
    late: float | Callable[[float], float] = 0.0,
    rates: Sequence[tuple[float, float]] = ((10.0, 10.0),),
    kinds: Sequence[str] = (),
    workers: Sequence[int] = (),
    slow: str = "",
    outcome: str = "measured",
    **told: Any,
) -> Measurement:
    """Write the raw files of a measurement."""
    line = entry("gunicorn-sync-wsgi", "delay-50") | {"tool": "sockets", "level": event.level, "event": as_plain(event)}
    line |= {"dir": f"raw/r01/0001/delay-50/sockets-{event.level}/w1/{line['service']}", "connections": None}
    planned = measurement_of(json.loads(json.dumps(line)))
    assert isinstance(planned, Measurement), planned
    folder = run / planned.dir
    folder.mkdir(parents=True)
    lines = ["\t".join(COLUMNS)]
    for number, (due, takes, fate) in enumerate(requests):
        after = late(due) if callable(late) else late
        begun, end = round((due + after) * S), "" if takes is None else round((due + takes) * S)
        kind = kinds[number] if kinds else ""
        worker = workers[number] if workers else 0
        lines.append("\t".join(map(str, (kind, round(due * S), begun, begun, "", end, 1, 1, fate, 200, worker, 0))))
    (folder / "requests.tsv.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    usual = {"t0_ns": 5, "same_clock": True, "main": 2, "before": [3, 4], "workers": [[0, [3, 4]], [4 * S, [5, 6]]]}
    usual |= {"actions": [action(3.0)], "samples": [[S, 0, 100], [4 * S, S, 300]], "until_ns": 5 * S, "error": ""}
    (folder / "events.json").write_text(json.dumps(usual | told))
    (folder / "capacity.json").write_text(json.dumps({"rate": 40.0}))
    (folder / "slow.tsv").write_text(slow)
    (folder / "tool.json").write_text(json.dumps({"rates": rates, "beside": 0, "faults": told.get("faults", {})}))
    (folder / "meta.json").write_text(json.dumps({"id": planned.id, "outcome": outcome, "detail": "why"}))
    return planned


def action(at_s: float, pid: int = 2, error: str = "") -> dict[str, Any]:
    what = {"what": "SIGHUP to the main process", "pid": pid, "took_ns": S // 10, "error": error}
    return what | {"at_ns": round(at_s * S)}


def made(run: Path, *args: Any, **more: Any) -> EventRecord:
    planned = write(run, *args, **more)
    return event_record(str(run), planned, read_raw(str(run), planned))


def test_a_reload_that_loses_three_of_a_hundred(tmp_path: Path) -> None:
    requests = steady(10.0)
    for number in (31, 32, 35):
        requests[number] = (number / 10, 0.01, "reset")
    workers = [3] * 40 + [5] * 60
    record = made(tmp_path, RELOAD, requests, workers=workers)
    assert (record.sent, record.lost, record.fates) == (100, 3, {Fate.ANSWERED: 97, Fate.RESET: 3})
    assert (record.rate, record.capacity, record.share) == (10.0, 40.0, 0.25)
    assert record.actions == (Action("SIGHUP to the main process (2)", 3.0, 0.1),)
    assert record.longest_gap_s == pytest.approx(0.3) and record.recovered_s == 1.0
    assert record.p99_before_s == pytest.approx(0.05)
    assert (record.happened, record.happened_by) == (True, "2 of 2 workers were replaced")
    assert (record.memory_before_bytes, record.memory_peak_bytes) == (100, 300)
    assert record.extras["new_code_s"] == pytest.approx(1.05) and record.extras["swapped_s"] == pytest.approx(1.9)
    assert record.counts and record.late_p99_s == 0.0
    assert [(one.good, one.failed) for one in record.timeline[30:33]] == [(1, 0), (0, 1), (0, 1)]


def test_a_worker_that_was_there_before_means_that_nothing_was_reloaded(tmp_path: Path) -> None:
    record = made(tmp_path, RELOAD, steady(10.0), workers=[], **{"workers_after": 0})
    assert record.happened
    left = made(tmp_path / "left", RELOAD, steady(10.0), until_ns=None, **{"before": [3, 5]})
    assert (left.happened, left.happened_by, left.counts) == (False, "1 of 2 workers were replaced", False)


def test_an_old_process_that_was_not_known_as_a_worker_is_not_new_code(tmp_path: Path) -> None:
    """It answered nothing before the reload, and answers after it."""
    before, after = [3] * 40 + [9] * 5 + [5] * 55, [3] * 40 + [5] * 55 + [9] * 5
    record = made(tmp_path, RELOAD, steady(10.0), workers=before, others=[9])
    assert record.extras["new_code_s"] == pytest.approx(1.55) and record.happened
    left = made(tmp_path / "left", RELOAD, steady(10.0), workers=after, others=[9])
    assert left.happened is False


BROKEN: dict[str, tuple[Callable[[Path], EventRecord], str]] = {
    "starved": (lambda run: made(run, RELOAD, steady(10.0), late=0.06), "the client was starved"),
    "ports": (
        lambda run: made(run, RELOAD, steady(10.0), faults={"Too many open files": 2}),
        "the client itself failed 2 times: Too many open files",
    ),
    "signal": (
        lambda run: made(run, RELOAD, steady(10.0), actions=[action(3.0, error="no such process")]),
        "SIGHUP to the main process failed: no such process",
    ),
    "clock": (lambda run: made(run, RELOAD, steady(10.0), same_clock=False), "the clocks of client and host differ"),
    "watch": (lambda run: made(run, RELOAD, steady(10.0), error="gone"), "the service could not be watched: gone"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_window_that_does_not_count_says_why(tmp_path: Path, case: str) -> None:
    make, words = BROKEN[case]
    record = make(tmp_path)
    assert not record.counts and record.causes[0].startswith(words)


def test_descriptors_over_reloads_do_not_depend_on_when_requests_leave(tmp_path: Path) -> None:
    (reloads,) = (case for case in EVENTS["memory"].cases if case.repeats)
    record = made(tmp_path, reloads, steady(10.0), late=0.06)
    assert record.late_p99_s == pytest.approx(0.06) and not record.causes


@pytest.mark.parametrize(("late_at", "counts"), [(5.7, True), (4.0, False)])
def test_a_burst_that_is_released_keeps_the_client_busy_and_does_not_starve_it(
    tmp_path: Path, late_at: float, counts: bool
) -> None:
    """Health checks that leave late just after all of a burst was answered are no fault; while it is held, they are."""
    needs = replace(EVENTS["exhausted"].cases[0].needs, steps=(4,))  # type: ignore[type-var]
    event = replace(EVENTS["exhausted"].cases[0], needs=needs)
    requests = [*steady(10.0), *((4.1, 1.5, "answered") for _ in range(4))]
    kinds = [*[""] * 100, *["needs 4"] * 4]
    record = made(
        tmp_path, event, requests, kinds=kinds, actions=[], late=lambda due: 0.2 * (0 <= due - late_at < 0.35)
    )
    assert record.extras["checks_4"] == 15
    assert (not record.causes) == counts, record.causes


def test_a_request_without_an_end_is_unaccounted_for(tmp_path: Path) -> None:
    record = made(tmp_path, RELOAD, [*steady(2.0), (2.0, None, "")])
    assert (record.sent, sum(record.fates.values())) == (21, 20) and record.unaccounted and not record.counts


@pytest.mark.parametrize(("kills", "why"), [(0, ""), (1, "the server was killed at its container's memory limit: ")])
def test_the_end_of_a_server_explains_what_its_tool_does_not_say(tmp_path: Path, kills: int, why: str) -> None:
    planned = write(tmp_path, EVENTS["memory"].cases[0], [], actions=[], oom_kills=kills)
    path = tmp_path / planned.dir / "tool.json"
    part = {"begin_ns": 0, "end_ns": S, "output": "unable to connect to a:8080 Connection refused\n"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"parts": [part]}))
    record = event_record(str(tmp_path), planned, read_raw(str(tmp_path), planned))
    assert record.unaccounted == f"{why}wrk does not say what it sent in part 1" and not record.counts


def test_never_back_is_none_and_undisturbed_is_zero(tmp_path: Path) -> None:
    never = [*steady(5.0), *((5 + number / 10, 5.0, "timed_out") for number in range(50))]
    record = made(tmp_path / "never", RELOAD, never)
    assert record.recovered_s is None and record.missing["recovered_s"] == "not in this window"
    assert made(tmp_path / "always", RELOAD, steady(10.0)).recovered_s == 0.0
    slow = [(due, 0.5 if 3 <= due < 5 else takes, fate) for due, takes, fate in steady(10.0)]
    assert made(tmp_path / "slow", RELOAD, slow).recovered_s == 2.0


def test_of_a_stop_only_what_was_begun_before_it_is_lost(tmp_path: Path) -> None:
    (stop,) = EVENTS["stop"].cases
    requests = [*steady(2.9), (2.5, 5.4, "answered"), (2.95, 0.3, "reset")]
    requests += [(3.2, 0.01, "refused"), (3.3, 0.01, "refused")]
    kinds = [*[""] * 29, "long", *[""] * 3]
    idle = "".join(f"16\t{S}\t{closed * S}\t{how}\t200\n" for closed, how in ((2, "eof"), (4, "eof"), (0, "held")))
    record = made(tmp_path, stop, requests, kinds=kinds, ended_ns=9 * S, slow="k\n" + idle)
    assert [record.extras[name] for name in ("idle", "idle_closed", "idle_closed_s")] == [2, 1, 1.0]
    assert (record.sent, record.lost, record.exit_s) == (31, 1, pytest.approx(5.9))
    assert record.extras["under_way"] == 2 and record.extras["under_way_lost"] == 1
    assert (record.extras["long_fate"], record.extras["long_s"]) == ("answered", pytest.approx(5.4))
    assert (record.extras["sent_after"], record.extras["refused_after"]) == (2, 2)
    assert (record.extras["still_answered"], record.extras["told_to_close"]) == (1, 0)
    assert record.longest_gap_s is None and record.happened


def test_of_a_stop_with_streams_open_those_count_that_were_open(tmp_path: Path) -> None:
    (stop, _) = EVENTS["stop-streams"].cases
    ends = (
        (4, "eof", 101, ""),
        (7, "eof", 101, "1012"),
        (8, "reset", 101, ""),
        (0, "held", 101, ""),
        (7, "eof", 503, ""),
    )
    rows = "".join(f"64\t{S}\t{at * S}\t{how}\t{status}\t{told}\n" for at, how, status, told in ends)
    record = made(
        tmp_path, stop, steady(6.9), actions=[action(6.0, None)], ended_ns=9 * S, slow=f"k\n{rows}", workers=[]
    )
    names = ("streams", "streams_told", "streams_word", "streams_closed", "streams_closed_s", "streams_held")
    assert [record.extras[name] for name in names] == [3, 1, "1012", 2, 1.5, 1]
    assert record.extras["streams_refused"] == 1
    assert record.happened and record.sent == 61


@pytest.mark.parametrize(("after", "happened", "restored"), [([4, 9], True, 1.9), ([3, 4], False, 1.9)])
def test_a_killed_worker_is_seen_by_its_pid(tmp_path: Path, after: list[int], happened: bool, restored: float) -> None:
    (killed,) = EVENTS["killed"].cases
    seen = [[0, [3, 4]], [4 * S, after]]
    record = made(tmp_path, killed, steady(10.0), workers=[], **{"actions": [action(3.0, 3)], "workers_seen": seen})
    assert record.happened is True
    record = made(tmp_path / "b", killed, steady(10.0), actions=[action(3.0, 3)], **{"before": [3, 4]})
    assert record.extras["started_s"] == pytest.approx(restored)


def test_a_worker_that_has_started_is_back_only_once_it_answers(tmp_path: Path) -> None:
    """Kept connections belong to other workers: without requests on new ones, nothing shows when it answers."""
    (killed,) = EVENTS["killed"].cases
    workers = [3] * 30 + [4] * 45 + [9] * 25
    for new_every, restored in ((5, 4.55), (0, None)):
        event, folder = replace(killed, new_every=new_every), tmp_path / str(new_every)
        record = made(folder, event, steady(10.0), actions=[action(3.0, 3)], workers=workers, **{"before": [3, 4]})
        assert record.extras["started_s"] == pytest.approx(1.9)
        assert record.extras["restored_s"] == (restored and pytest.approx(restored))
    main = [4] * 50 + [2] * 50
    for number, others in enumerate(([4] * 100, main)):
        folder = tmp_path / f"none-{number}"
        slow = made(folder, killed, steady(10.0), actions=[action(3.0, 3)], workers=others, before=[3, 4])
        assert slow.extras["restored_s"] is None


def test_p99_around_an_event_has_the_lost_requests_and_5_s_after_it(tmp_path: Path) -> None:
    slow = [(due, 0.4 if 9 <= due < 9.2 else takes, fate) for due, takes, fate in steady(12.0)]
    assert made(tmp_path / "a", RELOAD, slow).p99_around_s == pytest.approx(0.4)
    assert made(tmp_path / "b", RELOAD, slow, until_ns=None).p99_around_s == pytest.approx(0.05)
    lost = [(due, takes, "reset" if 9 <= due < 9.2 else fate) for due, takes, fate in steady(12.0)]
    record = made(tmp_path / "c", RELOAD, lost)
    assert record.p99_around_s is None and record.missing["p99_around_s"] == "1 % of the requests or more were lost"


OVERLOAD = EVENTS["overload"].cases[0]
RATES = ((10.0, 4.0), (20.0, 6.0), (40.0, 20.0), (10.0, 20.0))
"""(requests/s, seconds) of its phases."""


def test_goodput_of_an_overload_is_what_came_in_time_in_each_phase(tmp_path: Path) -> None:
    requests, begin = list[Request](), 0.0
    for number, (rate, seconds) in enumerate(RATES):
        for one in range(round(rate * seconds)):
            fate = "timed_out" if (number == 2 and one % 4) or (number == 3 and one < 30) else "answered"
            requests.append((begin + one / rate, 0.05, fate))
        begin += seconds
    samples = [[n * S, min(n, 4) * S // 2 + max(0, n - 4) * S, 1] for n in range(51)]
    record = made(tmp_path, OVERLOAD, requests, rates=RATES, actions=[], samples=samples)
    assert [record.extras[f"goodput_{n}"] for n in ("1_0.5x", "2_1.5x", "3_3x", "4_0.5x")] == [10.0, 20.0, 10.0, 8.5]
    assert record.recovered_s == 3.0 and record.extras["cpu_s_3_3x"] == pytest.approx(20.0)
    # 46 s of CPU, of which 120, 200 and 170 good responses explain 0.05 s each, as in the first phase.
    assert record.extras["cpu_unanswered"] == pytest.approx(1 - 490 * 0.05 / 46)
    assert [one.what for one in record.actions] == [f"{n} times the capacity" for n in ("1.5", "3", "0.5")]


@pytest.mark.parametrize("overload", EVENTS["overload"].cases)
def test_a_window_of_an_overload_is_long_enough_to_work_off_everything_that_was_sent(overload: Event) -> None:
    *before, after = overload.phases
    assert sum(phase.share * phase.seconds for phase in before[1:]) + after.share * after.seconds == pytest.approx(
        sum(phase.seconds for phase in before[1:]) + after.seconds
    )


def test_goodput_of_a_phase_that_ends_early_is_that_of_its_time(tmp_path: Path) -> None:
    requests = [(30.0 + number / 10, 0.05, "answered") for number in range(40)]
    samples = [[n * S, n * S // 2, 1] for n in range(35)]
    record = made(tmp_path, OVERLOAD, requests, rates=RATES, actions=[], samples=samples)
    assert record.extras["goodput_4_0.5x"] == pytest.approx(10.0)
    assert record.extras["cpu_s_4_0.5x"] == pytest.approx(2.0)


def test_a_health_check_belongs_to_the_burst_that_it_was_sent_beside(tmp_path: Path) -> None:
    """A request of the first burst waits until the second one, beside which health checks fail."""
    needs = replace(EVENTS["exhausted"].cases[0].needs, steps=(3, 4), path="/held")  # type: ignore[type-var]
    event = replace(EVENTS["exhausted"].cases[0], needs=needs)
    checks = [(due, takes, "timed_out" if 7.5 < due < 8.0 else fate) for due, takes, fate in steady(12.0)]
    bursts = [(3.0, 10.0, "timed_out"), (3.0, 1.5, "answered"), (7.0, 1.5, "answered")]
    kinds = [""] * len(checks) + ["needs 3", "needs 3", "needs 4"]
    record = made(tmp_path, event, [*checks, *bursts], kinds=kinds, actions=[])
    assert (record.extras["failing_k"], record.extras["checks_lost_3"], record.extras["checks_lost_4"]) == (4, 0, 4)


def test_the_smallest_number_of_slow_connections_that_stops_service(tmp_path: Path) -> None:
    silent = EVENTS["slow"].cases[0]
    requests = [
        (due, 1.0 if due > 7.0 else takes, "timed_out" if due > 7.0 else fate) for due, takes, fate in steady(12.0)
    ]
    lines = "".join(f"{k}\t{at * S}\t{(at + 30) * S}\teof\t408\n" for k, at in ((1, 3), (2, 5), (4, 7), (4, 7)))
    record = made(tmp_path, silent, requests, slow="k\topened\tclosed\thow\tstatus\n" + lines, actions=[])
    assert (record.extras["smallest_k"], record.extras["most_k"], record.extras["cut"]) == (4, 4, 4)
    assert record.extras["cut_after_s"] == 30.0
    assert [one.what for one in record.actions] == [f"{k} silent connections" for k in (1, 2, 4)]


def test_what_the_others_had_beside_the_most_that_did_not_stop_it_and_what_each_slow_one_cost(tmp_path: Path) -> None:
    read = next(case for case in EVENTS["slow"].cases if case.slow == "read")
    requests = [
        (due, 1.0 if due > 7.0 else 0.2 if due > 5.0 else takes, "timed_out" if due > 7.0 else fate)
        for due, takes, fate in steady(12.0)
    ]
    lines = "".join(f"{k}\t{at * S}\t{end * S}\treset\t200\n" for k, at, end in ((1, 3, 4), (2, 5, 0), (4, 7, 0)))
    samples = [[S, 0, 1 << 20], [8 * S, 0, 21 << 20]]
    record = made(tmp_path, read, requests, slow="k\n" + lines, actions=[], samples=samples)
    assert (record.extras["smallest_k"], record.extras["p99_beside_k"]) == (4, 2)
    assert record.extras["p99_beside_s"] == pytest.approx(0.2)
    # At most two at once, because the first was closed before the second was opened.
    assert record.extras["kb_per_connection"] == 10 * 1024 and record.counts
    killed = made(tmp_path / "d", read, requests, slow="k\n" + lines, actions=[], samples=samples, oom_kills=2)
    assert "kb_per_connection" not in killed.extras and killed.extras["oom_kills"] == 2
    refused = "k\n" + lines.replace("200", "404")
    missing = made(tmp_path / "c", read, requests, slow=refused, actions=[], samples=samples)
    assert missing.causes == ("slow readers were answered with 404",)
    silent = made(tmp_path / "b", EVENTS["slow"].cases[0], requests, slow="k\n" + lines, actions=[], samples=samples)
    assert "kb_per_connection" not in silent.extras


def test_idle_connections_cost_memory(tmp_path: Path) -> None:
    idle = EVENTS["connections"].cases[0]
    lines = "".join(f"1000\t{3 * S}\t0\theld\t200\n" for _ in range(1000))
    # Those without a response may be in the server's backlog, where they cost it nothing.
    lines += "".join(f"1000\t{3 * S}\t0\theld\t0\n" for _ in range(1000))
    samples = [[S, 0, 1 << 20], [6 * S, 0, (1 << 20) + (2000 << 10)]]
    record = made(tmp_path, idle, steady(10.0), slow="k\n" + lines, actions=[], samples=samples)
    assert record.extras["kb_per_connection"] == 2.0 and record.extras["smallest_k"] is None
    less = [[S, 0, 4 << 20], [6 * S, 0, 1 << 20]]
    freed = made(tmp_path / "b", idle, steady(10.0), slow="k\n" + lines, actions=[], samples=less)
    assert "kb_per_connection" not in freed.extras


@pytest.mark.parametrize(
    ("told", "before", "peak"), [("40", 60, 260), ("200", 0, 100), ("", 100, 300), ("x", 100, 300)]
)
def test_the_folder_of_an_own_app_is_no_memory_of_its_processes(
    tmp_path: Path, told: str, before: int, peak: int
) -> None:
    requests = steady(10.0)
    planned = write(tmp_path, RELOAD, requests)
    idle = tmp_path / "raw/services" / planned.service / "idle.txt"
    idle.parent.mkdir(parents=True)
    idle.write_text(f"memory_bytes 90\nfolder_bytes {told}\n")
    record = event_record(str(tmp_path), planned, read_raw(str(tmp_path), planned))
    assert (record.memory_before_bytes, record.memory_peak_bytes) == (before, peak)


def test_what_could_not_be_done_or_did_not_work_is_a_row_with_its_reason(tmp_path: Path) -> None:
    cannot = made(tmp_path / "a", RELOAD, [], cannot="no Docker socket")
    assert (cannot.ended, cannot.detail) == (Ended.CANNOT, "no Docker socket")
    dead = made(tmp_path / "b", RELOAD, [], outcome="did not start")
    assert (dead.ended, dead.detail) == (Ended.FAILED, "did not start: why")
    planned = write(tmp_path / "c", RELOAD, steady(1.0))
    log = tmp_path / "c" / planned.dir / "requests.tsv.gz"
    log.write_bytes(log.read_bytes()[:50])
    record = event_record(str(tmp_path / "c"), planned, read_raw(str(tmp_path / "c"), planned))
    assert (record.ended, record.detail) == (Ended.FAILED, "requests.tsv.gz is missing or damaged")
