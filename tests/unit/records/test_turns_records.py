"""Records of windows in turns, from raw files: figures are those of the service's own turns, and noise is no cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from built_runs import causes, only_record
from loop_runs import block, tables_of, write_window
from make_run import mark_measured, write_run

from bench.records.record import Record
from bench.records.turns import NO_LATENCY, OURS_THERE, RAN, SERVER_CPUS, WAITED, read_turns

STACKS = ("aiohttp", "tornado")
LINE = block(1, STACKS)[0]


def judged(folder: Path, line: dict[str, Any] = LINE, rate: float = 3000, bad: int = 0, **files: Any) -> Record:
    """The record of a window with these raw files; `before` and `after` are the block's counters."""
    ends = {when: files.pop(when, "") for when in ("before", "after")}
    write_run(folder, [line], tables_in_turns=tables_of([line]), knobs={"MAX_STEAL": "0", "MAX_FOREIGN_CPU": "0"})
    write_window(folder, line, rate, bad, **files)
    services = folder / "raw/r01/b1/services"
    services.mkdir(parents=True, exist_ok=True)
    for when, text in ends.items():
        (services / f"{line['service']}.{when}").write_text(f"running true\nmemory_bytes 5000000\npids 7 9\n{text}")
    mark_measured(folder, line)
    return only_record(folder)


def test_a_window_is_of_the_services_own_turns(tmp_path: Path) -> None:
    record = judged(tmp_path)
    assert (record.valid, record.mode, record.block, record.window, record.slot) == (True, "turns", 1, 1, 1)
    # The tool's own clock says 8 s.
    assert record.duration_s == 1.0
    assert record.successes == 3000
    assert record.goodput == 3000
    assert record.server_cpu_s == 0.9
    assert record.cpu_per_success_s == pytest.approx(300e-6)
    assert record.loadgen_cpu_s == 0.1
    assert record.loadgen_busy_ratio == pytest.approx(0.1)
    assert record.memory_loaded_bytes == 5_000_000
    # It is started for an hour, and that is as asked.
    assert record.asked_s == 1.0
    # Latencies are not the service's.
    assert set(record.latency_s.values()) == {None}
    assert {record.nulls[f"latency_s.{key}"] for key in record.latency_s} == {NO_LATENCY}


def test_the_shared_database_is_charged_by_turn(tmp_path: Path) -> None:
    line = LINE | {"database": True}
    cpu_ns = {line["service"]: 6 * 10**8, "postgres": 3 * 10**8, "upstream": 0, "loadgen": 10**8}
    record = judged(tmp_path, line, turns={"cpu_ns": cpu_ns})
    assert record.database_cpu_s == 0.3
    assert record.cpu_per_success_s == pytest.approx(0.9 / 3000)


MS = 10**6


def turn(ms: int, responses: int, cpu_ms: int, **changes: Any) -> dict[str, Any]:
    """A turn of `ms` with so many responses of 100 bytes, one in ten of them while it waits for the last ones."""
    cpu_ns = {LINE["service"]: cpu_ms * MS, "loadgen": MS, SERVER_CPUS: cpu_ms * MS, OURS_THERE: cpu_ms * MS}
    times = {"began_ns": 0, "load_ns": ms * MS * 9 // 10, "drain_ns": ms * MS // 10}
    return times | {"octets": 100 * responses, "cpu_ns": cpu_ns} | changes


# A turn begins with 10 ms without a response, in which 5 ms of CPU time are used; then there is one each millisecond.
TWO_LENGTHS = [turn(60, 50, 50, long=False), turn(210, 200, 170, long=True)] * 2
USED_NS = {LINE["service"]: 440 * MS, SERVER_CPUS: 440 * MS, OURS_THERE: 440 * MS, "loadgen": 4 * MS}
"""CPU time over all of them."""


def test_the_steady_part_of_a_window_is_free_of_the_begin_and_the_end_of_turns(tmp_path: Path) -> None:
    turns = {"load_ns": 486 * MS, "drain_ns": 54 * MS, "count": 4, "cpu_ns": USED_NS, "each": TWO_LENGTHS}
    record = judged(tmp_path, rate=500, turns=turns)
    assert record.goodput == record.speed == pytest.approx(500 / 0.54)
    assert record.steady_goodput == record.steady_speed == pytest.approx(1000)
    assert record.cpu_per_success_s == pytest.approx(0.88e-3)
    assert record.steady_cpu_per_success_s == pytest.approx(0.8e-3)


@pytest.mark.parametrize(
    "each",
    [
        [],
        None,
        TWO_LENGTHS[:1],
        [one | {"long": True} for one in TWO_LENGTHS],
        [one | {"long": None} for one in TWO_LENGTHS],
        [one | {"octets": -1} for one in TWO_LENGTHS],
        [one | {"octets": 100} for one in TWO_LENGTHS],
        [{name: value for name, value in one.items() if name != "octets"} for one in TWO_LENGTHS],
    ],
)
def test_without_turns_of_two_lengths_there_is_no_steady_part(tmp_path: Path, each: Any) -> None:
    record = judged(tmp_path, turns={"each": each})
    assert record.goodput == 3000
    assert record.steady_goodput is record.steady_speed is record.steady_cpu_per_success_s is None


def test_a_service_that_answers_whole_rounds_one_at_a_time_is_steady_all_the_time(tmp_path: Path) -> None:
    # The last responses of a short turn take as long as a long turn, and it has as many.
    each = [one | {"octets": 100, "drain_ns": 0 if one["long"] else 100 * MS} for one in TWO_LENGTHS]
    record = judged(tmp_path, turns={"each": each, "cpu_ns": USED_NS})
    assert (record.steady_goodput, record.steady_speed) == (record.goodput, record.speed) == (3000, 3000)
    assert record.steady_cpu_per_success_s == record.cpu_per_success_s


def speed_of(
    folder: Path, used_s: float, others_s: float, ran_s: float | None = None, waited_s: float = 0.0, **files: Any
) -> Record:
    """A window of one second with 3,000 responses, on one CPU, beside other programs."""
    seconds = {LINE["service"]: used_s, "loadgen": 0.1, SERVER_CPUS: used_s + others_s, OURS_THERE: used_s}
    seconds |= {RAN: ran_s, WAITED: waited_s} if ran_s is not None else {}
    cpu_ns = {name: round(value * 1e9) for name, value in seconds.items()}
    return judged(folder, turns={"cpu_ns": cpu_ns}, **files)


@pytest.mark.parametrize(
    ("seconds", "speed", "busy"),
    [
        ((0.6, 0.4, 0.4), 5000, 1.0),  # always ready to run: it would have used all of the others' time
        ((0.15, 0.85, 0.0), 3000, 0.15),  # sleeps: others used only what it did not need
        ((0.15, 0.85, 0.1), 3333, 0.167),
        ((0.9, 0.1, 2.5), 3333, 1.0),  # many threads that wait for each other
        ((0.9, 0.0, 0.0), 3000, 0.9),
    ],
)
def test_what_other_programs_took_is_the_time_that_the_service_waited_for_a_cpu(
    seconds: tuple[float, float, float], speed: float, busy: float, tmp_path: Path
) -> None:
    used_s, others_s, waited_s = seconds
    record = speed_of(tmp_path, used_s, others_s, used_s, waited_s)
    assert record.speed == pytest.approx(speed, rel=0.001)
    assert record.server_busy_ratio == pytest.approx(busy, rel=0.01)


def test_what_a_quota_took_is_not_what_other_programs_took(tmp_path: Path) -> None:
    # They also used the CPU while the service was throttled.
    counted = {"before": "throttled_ns 0", "after": "throttled_ns 600000000"}
    record = speed_of(tmp_path, 0.3, 0.7, 0.3, 0.7, **counted)
    assert record.speed == pytest.approx(3333, rel=0.001) and record.server_busy_ratio == pytest.approx(0.333, rel=0.01)


@pytest.mark.parametrize("ran_s", [None, 0.1], ids=["not read", "of threads that have ended"])
def test_where_its_waiting_is_not_known_others_time_counts_by_how_busy_it_can_have_been(
    ran_s: float | None, tmp_path: Path
) -> None:
    busy = speed_of(tmp_path / "busy", 0.6, 0.4, ran_s)
    assert busy.speed == pytest.approx(5000, rel=0.001) and busy.server_busy_ratio == pytest.approx(1.0)
    # If others use all remaining CPU time, a sleeping service looks as busy as one that they keep from running.
    idle = speed_of(tmp_path / "idle", 0.15, 0.85, ran_s)
    assert idle.speed is not None and 3000 < idle.speed < 1.1 * 3000
    assert idle.server_busy_ratio is not None and idle.server_busy_ratio < 0.2


@pytest.mark.parametrize(
    ("workers", "used_s", "busy", "speed"),
    [
        (1, 0.9, 0.9, 3000),  # one process on two CPUs
        (2, 0.9, 0.45, 3000),
        (1, 1.6, 1.0, 3000),  # it uses more CPUs than it has workers
        (None, 0.9, 0.45, 3000),  # runs that did not save it
    ],
)
def test_a_service_is_busy_by_the_cpus_that_it_can_use(
    workers: int | None, used_s: float, busy: float, speed: float, tmp_path: Path
) -> None:
    limits = {"nofile": 16384, "cpus": 2, "host_cpus": 4, "server_cpus": 2, "workers": workers}
    record = speed_of(tmp_path, used_s, 0.0, used_s, 0.5, limits=limits)
    assert (record.server_busy_ratio, record.speed) == (pytest.approx(busy), pytest.approx(speed))


@pytest.mark.parametrize(("late", "refused"), [(0, False), (1, False), (2, True)])
def test_responses_from_outside_its_turns_refuse_a_window(late: int, refused: bool, tmp_path: Path) -> None:
    record = judged(tmp_path, turns={"count": 10, "late": late})
    assert ("late responses" in causes(record)) == refused


def test_time_of_the_app_s_own_or_of_no_task_is_not_that_of_other_programs(tmp_path: Path) -> None:
    cpu_ns = {LINE["service"]: 6 * 10**8, "postgres": 0, "upstream": 0, "loadgen": 10**8}
    more = {"alone": {}, "own": {"own-database": 2 * 10**8}, "by tasks": {"host": 74 * 10**7}}
    busy = {"host_ticks": [100, 0, 0, 100, 0, 0, 0, 0]}
    found = {case: judged(tmp_path / case, turns=busy | {"cpu_ns": cpu_ns | own}) for case, own in more.items()}
    foreign = {case: record.foreign_ratio or 0.0 for case, record in found.items()}
    assert foreign["alone"] > 0.1 and foreign["alone"] - foreign["own"] == pytest.approx(0.2 / 2)
    assert foreign["by tasks"] == pytest.approx(0.04 / 2)
    assert len({record.cpu_per_success_s for record in found.values()}) == 1


def test_where_cpu_time_is_not_known_goodput_is_and_the_reason_is_said(tmp_path: Path) -> None:
    why = "its cgroup cannot be read in the load generator"
    record = judged(tmp_path, cpu_s=None, turns={"missing": {LINE["service"]: why}, "cpu_ns": {"loadgen": 1}})
    assert record.valid
    assert (record.goodput, record.server_cpu_s, record.cpu_per_success_s) == (3000, None, None)
    assert record.nulls["server_cpu_s"] == record.nulls["cpu_per_success_s"] == why


def test_memory_that_is_not_known_has_its_own_reason(tmp_path: Path) -> None:
    record = judged(tmp_path, after="null no Docker socket is mounted\nmemory_bytes x\n")
    assert record.server_cpu_s == 0.9
    assert record.nulls["memory_loaded_bytes"] == "no Docker socket is mounted"


def test_noise_of_the_host_is_no_cause(tmp_path: Path) -> None:
    # Half of the time was stolen, and other programs used most of the rest.
    record = judged(tmp_path, cpu_s=0.1, turns={"host_ticks": [50, 0, 50, 0, 0, 0, 0, 100]})
    assert record.steal_ratio == 0.5
    assert record.valid, record.causes


def test_other_connections_than_wrk_tells_are_as_asked(tmp_path: Path) -> None:
    assert judged(tmp_path, LINE | {"connections": 8}).valid


def test_drains_are_part_of_the_time_and_no_fault(tmp_path: Path) -> None:
    record = judged(tmp_path, turns={"load_ns": 10**9, "drain_ns": 5 * 10**8, "drains_cut": 3})
    assert (record.causes, record.duration_s, record.goodput) == ((), 1.5, 2000)


@pytest.mark.parametrize(
    ("files", "cause", "words"),
    [
        ({"bad": 400}, "errors", "400 of 3000"),
        ({"exit_status": 139}, "output", "exit status 139"),
        ({"health_after": {"status": None, "error": "refused"}}, "server", "refused"),
        ({"after": "pids 7 11\n"}, "server", "1"),
        ({"after": "oom_killed true\n"}, "out of memory", "killed"),
    ],
)
def test_what_is_wrong_is_a_cause(tmp_path: Path, files: dict[str, Any], cause: str, words: str) -> None:
    record = judged(tmp_path, **files)
    assert cause in causes(record), record.causes
    assert any(words in found.detail for found in record.causes)


def test_a_health_check_may_have_the_redirect_that_is_expected(tmp_path: Path) -> None:
    for redirects, valid in (((), False), ((302,), True)):
        line = LINE | {"redirects": list(redirects)}
        assert judged(tmp_path, line, health_after={"status": 302, "error": None}).valid == valid


@pytest.mark.parametrize("told", [None, {}, {"count": -1}, {"count": "1"}, {"count": 1, "load_ns": True}])
def test_turns_that_are_not_numbers_are_none(told: Any) -> None:
    assert read_turns({"turns": told}) is None


def test_a_window_without_its_turns_is_not_valid(tmp_path: Path) -> None:
    record = judged(tmp_path, turns={"load_ns": "x"})
    # The clock of a tool that was stopped does not measure its turns.
    assert any("what its turns were" in cause.detail for cause in record.causes), record.causes
