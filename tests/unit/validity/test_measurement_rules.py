"""The validity rules of one measurement: each cause just beyond and just within its limit."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from built_runs import causes, only_record, report_of
from built_runs import measured as judged
from make_run import entry, output_of, services_of, write_measurement, write_run
from places import SAMPLES

from bench.records.record import Cause

WRK = entry(tool="wrk", level="c64")
HEY = entry(tool="hey", level="c64")
COUNTED = entry(tool="hey", level="c50n205")
AB = entry(tool="ab", level="c16n1000")
VEGETA = entry(tool="vegeta", level="r500")
LINES = {line["tool"]: line for line in (WRK, HEY, AB, VEGETA)}
CASES = tomllib.loads(Path(__file__).with_name("measurement_rules.toml").read_text(encoding="utf-8"))


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.txt").read_bytes()


def changed(text: str, pattern: str, into: str) -> str:
    """The output with one figure changed."""
    lie, count = re.subn(pattern, into, text, count=1, flags=re.M)
    assert count == 1, pattern
    return lie


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_what_is_in_order_is_valid(line: dict[str, Any], tmp_path: Path) -> None:
    record = judged(tmp_path, line, output_of(line, 500 if line["rate"] else 4000))
    assert record.valid, record.causes
    assert record.goodput == pytest.approx(500 if line["rate"] else 4000, rel=1e-3)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("share, found", [(0.001, False), (0.002, True)])
def test_errors_are_one_in_a_thousand_at_most(line: dict[str, Any], share: float, found: bool, tmp_path: Path) -> None:
    rate = 500 if line["rate"] else 4000
    bad = round(share * (line["count"] or rate * line["duration_s"]))
    record = judged(tmp_path, line, output_of(line, rate, bad))
    assert ("errors" in causes(record)) == found
    assert record.goodput is not None and record.goodput < rate


@pytest.mark.parametrize("name, asked, attempts, detail", CASES["real_outputs"])
def test_real_outputs_have_their_causes(
    name: str, asked: dict[str, Any], attempts: int, detail: str, tmp_path: Path
) -> None:
    record = judged(tmp_path, LINES[name.partition("/")[0]] | asked, sample(name))
    assert f"{'; '.join(causes(record))}: {record.causes[0].detail}".startswith(detail)
    assert attempts in (-1, record.attempts)


@pytest.mark.parametrize("name, word", CASES["client_faults"].items())
def test_client_faults_are_told(name: str, word: str, tmp_path: Path) -> None:
    record = judged(tmp_path, LINES[name.partition("/")[0]], sample(name))
    (fault,) = (cause for cause in record.causes if cause.cause == "client fault")
    assert word in fault.detail


def test_a_name_that_vegeta_does_not_find_is_a_client_fault(tmp_path: Path) -> None:
    unresolved = changed(output_of(VEGETA, 500), r'"errors":\[\]', '"errors":["dial tcp: lookup x: no such host"]')
    assert "client fault" in causes(judged(tmp_path, VEGETA, unresolved))


def test_one_refused_connect_is_a_client_fault(tmp_path: Path) -> None:
    for refused, found in ((1, ["client fault"]), (0, [])):
        errors = f"  Socket errors: connect {refused}, read 0, write 0, timeout 0\nRequests/sec"
        assert causes(judged(tmp_path, WRK, changed(output_of(WRK, 4000), "Requests/sec", errors))) == found


@pytest.mark.parametrize("seconds, found", [(4.95, False), (4.8, True), (5.4, False), (5.6, True)])
def test_the_duration_is_the_asked_one(seconds: float, found: bool, tmp_path: Path) -> None:
    record = judged(tmp_path, WRK, output_of(WRK | {"duration_s": seconds}, 4000).replace("Running 6s", "Running 5s"))
    assert ("load not as requested" in causes(record)) == found


def test_hey_rounds_a_count_to_its_connections(tmp_path: Path) -> None:
    record = judged(tmp_path, COUNTED, sample("hey/rounding-n205-c50"))
    assert causes(record) == ["load not as requested"]
    assert record.causes[0].detail == "200 requests instead of 205 (hey sends 4 on each of 50 connections)"
    assert judged(tmp_path, COUNTED | {"count": 200}, sample("hey/rounding-n205-c50")).valid


def test_wrk_gives_each_thread_the_quotient(tmp_path: Path) -> None:
    odd = WRK | {"connections": 65, "threads": 2}
    assert causes(judged(tmp_path, odd, output_of(odd, 4000))) == ["load not as requested"]
    even = WRK | {"threads": 2}
    assert judged(tmp_path, even, output_of(even, 4000)).valid


@pytest.mark.parametrize("line", [WRK, AB], ids=["wrk", "ab"])
def test_the_connections_are_the_asked_ones(line: dict[str, Any], tmp_path: Path) -> None:
    fewer = line | {"connections": line["connections"] - 1}
    assert causes(judged(tmp_path, fewer, output_of(line, 4000))) == ["load not as requested"]


@pytest.mark.parametrize("sent, found", [(497, False), (493, True), (503, False), (507, True)])
def test_an_open_loop_sends_what_was_asked(sent: float, found: bool, tmp_path: Path) -> None:
    record = judged(tmp_path, VEGETA, output_of(VEGETA, sent))
    assert causes(record) == (["load not as requested"] if found else [])
    assert record.sent_rate == pytest.approx(sent, rel=1e-3)


@pytest.mark.parametrize("rps, found", [(3000, False), (8050, False), (8200, True)])
def test_the_rate_of_a_closed_loop_is_a_ceiling(rps: float, found: bool, tmp_path: Path) -> None:
    line = entry(tool="hey", level="c100r8000")
    assert causes(judged(tmp_path, line, output_of(line, rps))) == (["load not as requested"] if found else [])


@pytest.mark.parametrize("opened, found", [(3896, False), (3895, True), (64, True), (None, False)])
def test_a_service_that_keeps_connections_is_not_measured_as_one_that_closes_them(
    opened: int | None, found: bool, tmp_path: Path
) -> None:
    line = entry(level="c64close", duration_s=1.0, keepalive=False)
    record = judged(tmp_path, line, output_of(line, 4000), tool={"opened": opened})
    assert causes(record) == (["load not as requested"] if found else [])
    words = "connections opened for 4000 requests: the service does not close them, although wrk asks for it"
    assert [cause.detail for cause in record.causes] == ([f"{opened} {words}"] if found else [])
    kept = entry(level="c64", duration_s=1.0)
    assert judged(tmp_path, kept, output_of(kept, 4000), tool={"opened": opened}).valid


@pytest.mark.parametrize(
    "tool, level, found",
    [("wrk", "c64close", []), ("wrk", "c64", ["arithmetic"]), ("hey", "c64close", ["arithmetic"])],
)
def test_the_time_to_open_a_connection_is_no_latency_of_wrk(
    tool: str, level: str, found: list[str], tmp_path: Path
) -> None:
    line = entry(tool=tool, level=level, keepalive=level == "c64")
    assert causes(judged(tmp_path / "all", line, output_of(line, 4000))) == []
    assert causes(judged(tmp_path / "half", line, with_mean(line, 0.5))) == found


AFTER = [
    ({"after": {"restarts": 1}}, True),
    ({"after": {"throttled_ns": 10**6, "nr_throttled": 1}}, True),
    ({"after": {"oom_killed": "false", "running": "true"}}, False),
    ({"after": {"running": "false"}}, True),
    ({"after": {"memory_bytes": 1 << 40}}, False),
    ({"tool": {"health_after": {"status": 503, "error": None}}}, True),
    ({"tool": {"health_after": {"status": None, "error": "connection reset"}}}, True),
    ({"tool": {"health_after": {"status": 200, "error": None}}}, False),
]


@pytest.mark.parametrize("files, found", AFTER)
def test_the_server_is_whole_after_the_window(files: dict[str, Any], found: bool, tmp_path: Path) -> None:
    assert causes(judged(tmp_path, WRK, output_of(WRK, 4000), **files)) == (["server"] if found else [])


A_PROCESS = "a process was"


@pytest.mark.parametrize(
    "files, killed",
    [({"oom_kill": 1}, A_PROCESS), ({"oom_kill": 3}, "3 processes were"), ({"oom_killed": "true"}, A_PROCESS)],
)
def test_a_kill_for_want_of_memory_is_a_cause_of_its_own(files: dict[str, Any], killed: str, tmp_path: Path) -> None:
    record = judged(tmp_path, WRK, output_of(WRK, 4000), after=files)
    assert record.causes == (Cause("out of memory", f"{killed} killed by the kernel at the container's memory limit"),)
    assert "| out of memory |" in report_of(tmp_path)


def test_one_that_was_killed_in_its_warm_up_has_the_cause_too(tmp_path: Path) -> None:
    write_run(tmp_path, [WRK])
    meta = {"outcome": "answers wrongly", "detail": "warm-up: no answer"}
    write_measurement(tmp_path, WRK, "", after={"oom_kill": 2, "oom_killed": "false"}, meta=meta)
    for name in ("output.txt", "tool.json"):
        (tmp_path / WRK["dir"] / name).unlink()
    (services_of(tmp_path, WRK) / f"{WRK['service']}.before").unlink()
    record = only_record(tmp_path)
    assert causes(record)[:2] == ["answers wrongly", "out of memory"]


@pytest.mark.parametrize(
    "step_s, words", [(3600, "set forward by 3600 s"), (-3600, "set back by 3600 s"), (0.5, "set forward by 0.5 s")]
)
def test_a_clock_that_was_set_under_load_is_a_cause(step_s: float, words: str, tmp_path: Path) -> None:
    begin = 10**9 + 3600 * 10**9
    clock = {"start_ns": begin, "end_ns": begin + round((6 + step_s) * 1e9), "elapsed_ns": 6 * 10**9}
    record = judged(tmp_path, WRK, output_of(WRK, 4000), tool=clock)
    assert causes(record) == ["clock"]
    assert words in record.causes[0].detail
    # The share of the CPUs is relative to the time that really passed.
    assert record.foreign_ratio is not None and 0 <= record.foreign_ratio < 0.1


@pytest.mark.parametrize("step_s", [0.0, 0.02, -0.05])
def test_clocks_that_only_round_differently_are_none(step_s: float, tmp_path: Path) -> None:
    clock = {"end_ns": 10**9 + round((6 + step_s) * 1e9), "elapsed_ns": 6 * 10**9}
    assert judged(tmp_path, WRK, output_of(WRK, 4000), tool=clock).valid


@pytest.mark.parametrize(
    "settings, found", [("CPU_QUOTA=0.5", False), ("WORKERS=2 CPU_QUOTA=0.5", False), ("WORKERS=2", True)]
)
def test_throttling_by_a_quota_that_was_asked_for_is_no_fault(settings: str, found: bool, tmp_path: Path) -> None:
    line = WRK | {"settings": settings}
    record = judged(tmp_path, line, output_of(line, 4000), after={"throttled_ns": 10**9, "nr_throttled": 9})
    assert (causes(record), record.throttled_s, record.settings.text) == (["server"] if found else [], 1.0, settings)


@pytest.mark.parametrize("tool, truth, lie", CASES["lies"])
def test_a_figure_that_contradicts_others_is_caught(tool: str, truth: str, lie: str, tmp_path: Path) -> None:
    line = LINES[tool]
    text = changed(output_of(line, 500 if line["rate"] else 4000), truth, lie)
    assert "arithmetic" in causes(judged(tmp_path, line, text))


def test_more_seconds_than_the_clock_saw_are_caught(tmp_path: Path) -> None:
    text = output_of(WRK, 4000)
    assert causes(judged(tmp_path, WRK, text, tool={"end_ns": 4 * 10**9})) == ["arithmetic"]
    assert causes(judged(tmp_path, WRK, text, tool={"end_ns": 6 * 10**9})) == []


def with_mean(line: dict[str, Any], factor: float) -> str:
    """The tool's output, with this many times the mean latency that its connections and rate allow."""
    if line["tool"] == "wrk":
        return changed(output_of(line, 4000), "Latency   16.00ms", f"Latency   {16 * factor:.2f}ms")
    return changed(output_of(line, 4000), "Average:\t0.0160", f"Average:\t{0.016 * factor:.4f}")


@pytest.mark.parametrize("asked, factors, found", CASES["means"])
def test_littles_law_holds(asked: dict[str, Any], factors: list[float], found: list[str], tmp_path: Path) -> None:
    line = entry(**asked)
    for factor in factors:
        assert causes(judged(tmp_path, line, with_mean(line, factor))) == found, factor


@pytest.mark.parametrize("cpu_s, found", [(0.1, ["arithmetic"]), (4.9, [])])
def test_against_the_null_server_connections_wait_for_the_tool(cpu_s: float, found: list[str], tmp_path: Path) -> None:
    line = entry(tool="wrk", mode="null", service="null")
    usage = {"before": "0", "after": str(int(cpu_s * 1e9))}
    told = {when: {"loadgen": {"cpuacct.usage": used}} for when, used in usage.items()}
    assert causes(judged(tmp_path, line, with_mean(line, 0.69), tool=told)) == found


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_output_cut_anywhere_is_never_valid(line: dict[str, Any], tmp_path: Path) -> None:
    text = output_of(line, 500 if line["rate"] else 4000).rstrip()
    for share in (0.0, 0.2, 0.5, 0.8, 0.97):
        record = judged(tmp_path, line, text[: int(share * len(text))])
        assert "output" in causes(record), share


KILLED = "exit status {} (killed, as it did not end by itself)"


@pytest.mark.parametrize("status, said", [(124, KILLED.format(124)), (137, KILLED.format(137)), (None, "")])
def test_the_exit_status_counts(status: int | None, said: str, tmp_path: Path) -> None:
    record = judged(tmp_path, WRK, output_of(WRK, 4000), tool={"exit_status": status})
    assert causes(record) == ["output"] and record.causes[0].detail.endswith(said)


def test_an_output_that_cannot_tell_the_good_has_no_goodput(tmp_path: Path) -> None:
    record = judged(tmp_path, AB | {"connections": 5, "count": 300}, sample("ab/length-failures"))
    assert "output" in causes(record)
    assert record.goodput is None and record.successes is None
    assert record.nulls["goodput"] == "between 100 and 300 answers were good, the output is ambiguous"


@pytest.mark.parametrize("outcome", ["did not start", "died", "answers wrongly", "load tool failed"])
def test_what_was_not_measured_says_so_first(outcome: str, tmp_path: Path) -> None:
    meta = {"outcome": outcome, "detail": "in so many words"}
    record = judged(tmp_path, WRK, output_of(WRK, 4000), meta=meta)
    assert (record.causes[0].cause, record.causes[0].detail) == (outcome, "in so many words")
    assert not record.valid


@pytest.mark.parametrize("tool", CASES["flawed"])
def test_real_outputs_are_judged_as_they_were_made(tool: str, tmp_path: Path) -> None:
    """Every real output of the samples, with the load of its command."""
    flawed = set()
    for command in sorted((SAMPLES / tool).glob("*.cmd")):
        asked, output = re.search(CASES["asked"][tool], command.read_text()), command.with_suffix(".txt")
        truth = json.loads(command.with_name(f"{command.stem}.truth.json").read_text())
        if asked is None or truth["format"] != "text":
            continue
        line = entry(tool=tool) | {"duration_s": None} | {name: int(word) for name, word in asked.groupdict().items()}
        if not judged(tmp_path / command.stem, line, output.read_bytes()).valid:
            flawed.add(command.stem)
    assert flawed == {*CASES["flawed"][tool]}
