"""What a measurement used, from the counters of cgroup v1 and v2, with a reason for missing figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_runs import measured, only_record, report_of
from make_run import entry, output_of, services_of, write_measurement

from bench.records.record import Record
from driver.steps.measure import REPLACED


def test_the_databases_cpu_is_part_of_a_request_that_asks_it(tmp_path: Path) -> None:
    plain = measured(tmp_path / "json", entry(scenario="json"))
    asked = measured(tmp_path / "db", entry(scenario="db-raw"))
    assert (plain.server_cpu_s, plain.database_cpu_s, plain.successes) == (1.0, 0.3, 20_000)
    assert plain.cpu_per_success_s == 1.0 / 20_000 and plain.goodput_per_core == 20_000
    assert asked.cpu_per_success_s == pytest.approx(1.3 / 20_000)
    assert asked.goodput_per_core == pytest.approx(20_000 / 1.3)


@pytest.mark.parametrize("scenario, known", [("json", True), ("db-raw", False)])
def test_a_database_without_counters_hides_the_cost_of_those_who_ask_it(
    scenario: str, known: bool, tmp_path: Path
) -> None:
    line, reason = entry(scenario=scenario), "the container's cgroup cannot be read on this host"
    measured(tmp_path, line)
    (services_of(tmp_path, line) / "postgres.after").write_text(f"null {reason}\n")
    record = only_record(tmp_path)
    assert record.nulls["database_cpu_s"] == record.nulls["foreign_ratio"] == reason
    assert (record.cpu_per_success_s is not None) == (record.goodput_per_core is not None) == known
    assert known or record.nulls["cpu_per_success_s"] == record.nulls["goodput_per_core"] == reason
    (services_of(tmp_path, line) / "postgres.after").unlink()
    assert only_record(tmp_path).nulls["database_cpu_s"] == "the database's counters were not saved"


def test_cpu_time_by_process_is_that_of_those_that_are_there_at_the_end(tmp_path: Path) -> None:
    line = entry()
    measured(tmp_path, line, after={"ticks_7": 10, "ticks_12": 650, "ticks_10": 30})
    with (services_of(tmp_path, line) / f"{line['service']}.before").open("a") as before:
        before.write("ticks_7 10\nticks_9 5\n")
    assert only_record(tmp_path).process_cpu_s == (1.5, 0.3, 0.0)
    (services_of(tmp_path, line) / f"{line['service']}.after").write_text("cpu_usage_ns 6000000000\n")
    none = only_record(tmp_path)
    assert none.process_cpu_s is None
    assert none.nulls["process_cpu_s"] == "the server's counters do not include it"


def test_memory_start_up_and_image(tmp_path: Path) -> None:
    line = entry()
    record = measured(tmp_path, line)
    assert (record.memory_idle_bytes, record.memory_loaded_bytes) == (30 << 20, 50 << 20)
    assert (record.start_s, record.image_bytes) == (0.45, 190_000_000)
    with (tmp_path / "raw/services" / line["service"] / "idle.txt").open("a") as idle:
        idle.write(f"folder_bytes {12 << 20}\n")
    own = only_record(tmp_path)
    assert (own.memory_idle_bytes, own.memory_loaded_bytes) == (18 << 20, 38 << 20)
    write_measurement(tmp_path, line, output_of(line, 4000), meta={"started_ns": None})
    saved = tmp_path / "raw/services" / line["service"]
    (saved / "idle.txt").write_text("null no Docker socket\n")
    (saved / "image.json").unlink()
    record = only_record(tmp_path)
    assert record.nulls["memory_idle_bytes"] == "no Docker socket"
    assert record.nulls["start_s"] == "the time when its container started was not saved"
    assert record.nulls["image_bytes"].endswith("image.json is missing")
    (saved / "idle.txt").unlink()
    assert only_record(tmp_path).nulls["memory_idle_bytes"] == "the idle service's counters were not saved"


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"[{}]", b'[{"Size": "1"}]', b'[{"Size": true}]', b'[{"Size": -1}]', b"[" * 9999]
)
def test_an_image_without_a_size_has_none(data: bytes, tmp_path: Path) -> None:
    line = entry()
    measured(tmp_path, line)
    (tmp_path / "raw/services" / line["service"] / "image.json").write_bytes(data)
    assert only_record(tmp_path).image_bytes is None


@pytest.mark.parametrize(
    "tool, threads, busy, wait",
    [("wrk", 1, 0.25, 0.2), ("wrk", 2, 0.125, 0.1), ("ab", 1, 0.25, 0.2), ("hey", 1, 0.0625, 0.05)],
)
def test_a_tool_is_measured_by_the_cpus_that_it_can_use(
    tool: str, threads: int, busy: float, wait: float, tmp_path: Path
) -> None:
    line = entry(tool=tool, threads=threads)
    facts = {"limits": {"cpus": "4", "host_cpus": "1"}}
    facts |= {"waits": {"seen_ns": str(6 * 10**9), "waited_ns": str(10**9), "threads": "4"}}
    record = measured(tmp_path, line, tool=facts)
    # 1.5 s of CPU in 6 s; 1 s of waiting in the 5 s until the last reading.
    assert record.loadgen_busy_ratio == pytest.approx(busy)
    assert record.loadgen_wait_ratio == pytest.approx(wait)


@pytest.mark.parametrize(
    "idle, wait",
    # Of 6 s, the load generator used 1.5 s: with 3.9 s idle, others used 0.6 s, so it waited for them at most 0.6 s.
    [(390, 0.1), (300, 0.2), (450, 0.0), (460, 0.0)],
)
def test_a_tool_whose_threads_wait_for_one_another_does_not_lack_a_cpu(idle: int, wait: float, tmp_path: Path) -> None:
    def lines(ticks: int) -> str:
        return f"cpu1 900 0 0 {ticks} 7 0 0 0 0 0"

    ends = {"before": {"loadgen": {"cpuacct.usage": "0"}, "proc_stat_own": lines(1000)}}
    ends |= {"after": {"loadgen": {"cpuacct.usage": "1500000000"}, "proc_stat_own": lines(1000 + idle)}}
    waits = {"waits": {"seen_ns": str(6 * 10**9), "waited_ns": str(10**9), "threads": "6"}}
    record = measured(tmp_path, entry(tool="hey"), tool=ends | waits)
    assert record.loadgen_wait_ratio == pytest.approx(wait)


def test_waits_that_were_not_seen_are_null_with_the_reason(tmp_path: Path) -> None:
    record = measured(tmp_path, entry(), tool={"waits": {"missing": "no thread was seen"}})
    assert record.nulls["loadgen_wait_ratio"] == "no thread was seen"
    for waits in ({}, [], {"seen_ns": "1", "waited_ns": "5"}, {"seen_ns": str(9**12), "waited_ns": "-3"}):
        record = measured(tmp_path, entry(), tool={"waits": waits})
        assert record.nulls["loadgen_wait_ratio"] == "tool.json does not say"


def stat(*ticks: int) -> str:
    return "cpu  " + " ".join(map(str, ticks)) + " 0 0"


def host(
    folder: Path, spent: tuple[int, ...], irq_time: str = "in_tasks", cpus: str = "2", seconds: float = 6
) -> Record:
    """The record of a window with 1 s of CPU for the server and 1.9 s for our others; /proc/stat counted `spent`."""
    ends = {"before": {"loadgen": {"cpuacct.usage": "0"}, "proc_stat": stat(*[1000] * 8)}}
    ends |= {"after": {"loadgen": {"cpuacct.usage": "1500000000"}, "proc_stat": stat(*(1000 + n for n in spent))}}
    facts = ends | {"limits": {"cpus": "1", "host_cpus": cpus}, "end_ns": 10**9 + round(seconds * 1e9)}
    return measured(folder, entry(), tool=facts, after={"irq_time": irq_time})


def test_foreign_cpu_is_what_was_busy_beside_the_measurement(tmp_path: Path) -> None:
    # 12 s of CPU: 9.1 s idle (0.1 s of that waiting for a disk), and 2.9 s our own.
    assert host(tmp_path / "a", (200, 0, 90, 900, 10, 0, 0, 0)).foreign_ratio == pytest.approx(0.0)
    # 0.6 s more were busy.
    assert host(tmp_path / "b", (200, 0, 90, 840, 10, 0, 0, 0)).foreign_ratio == pytest.approx(0.05)
    # Time taken by the hypervisor is steal, not work on this machine.
    stolen = host(tmp_path / "c", (200, 0, 90, 840, 10, 0, 0, 60))
    assert stolen.foreign_ratio == pytest.approx(0.0) and stolen.steal_ratio == pytest.approx(0.05)
    # Busy time is sampled and may be missed; idle time is exact, and the result the same.
    assert host(tmp_path / "d", (130, 0, 90, 900, 10, 0, 0, 0)).foreign_ratio == pytest.approx(0.0)
    # Our own time exceeds all busy time, because its counters are read a little later.
    assert host(tmp_path / "e", (200, 0, 90, 950, 10, 0, 0, 0)).foreign_ratio == 0.0


def test_on_several_machines_noise_counts_where_it_was_the_most(tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    host(folder, (150, 0, 0, 1050, 0, 0, 0, 0))
    saved = services_of(folder, entry())
    for idle, foreign in ((1100, 0.0), (860, 0.2)):
        # The server's machine: it used 1 s of 12 s of CPU.
        for when, ticks in (("before", (0,) * 8), ("after", (1200 - idle, 0, 0, idle, 0, 0, 0, 0))):
            told = {"apart": "yes", "proc_stat_cpu": " ".join(map(str, (*ticks, 0, 0)))}
            file = saved / f"{entry()['service']}.{when}"
            kept = [line for line in file.read_text().splitlines() if line.split()[0] not in told]
            file.write_text("\n".join([*kept, *(f"{key} {value}" for key, value in told.items())]) + "\n")
        assert only_record(folder).foreign_ratio == pytest.approx(foreign)
        assert only_record(folder).steal_ratio == 0.0
    # The last one again: the database and the upstream used 0.4 s on the server's machine.
    (saved / "postgres.before").write_text((saved / "postgres.before").read_text() + "beside server\n")
    assert only_record(folder).foreign_ratio == pytest.approx(0.2 - 0.4 / 12)
    file.write_text(file.read_text().replace("proc_stat_cpu", "other"))
    assert only_record(folder).nulls["foreign_ratio"] == "the counters of the server's machine do not include it"


def test_what_an_app_brings_along_is_no_other_program(tmp_path: Path) -> None:
    folder = services_of(tmp_path, entry())
    host(tmp_path, (200, 0, 90, 840, 10, 0, 0, 0))
    for when, cpu_ns in (("before", 0), ("after", 6 * 10**8)):
        (folder / f"own-database.{when}").write_text(f"cpu_usage_ns {cpu_ns}\n")
    assert only_record(tmp_path).foreign_ratio == pytest.approx(0.0)
    (folder / "own-database.after").unlink()
    assert only_record(tmp_path).nulls["foreign_ratio"] == "the own-database's counters were not saved"


def test_a_database_that_an_app_replaces_hides_no_other_program(tmp_path: Path) -> None:
    folder = services_of(tmp_path, entry())
    host(tmp_path, (200, 0, 90, 840, 10, 0, 0, 0))
    for when, cpu_ns in (("before", 0), ("after", 6 * 10**8)):
        (folder / f"own-postgres.{when}").write_text(f"cpu_usage_ns {cpu_ns}\n")
        (folder / f"postgres.{when}").write_text(REPLACED)
    record = only_record(tmp_path)
    # 0.6 s more than in the other tests were busy, and its own database used 0.3 s more than theirs.
    assert record.foreign_ratio == pytest.approx(0.025)
    assert record.nulls["database_cpu_s"] == "the app's own Compose file replaces it"


@pytest.mark.parametrize("irq_time, foreign", [("in_tasks", 0.05), ("apart", 0.0), ("unknown", 0.0)])
def test_the_networks_own_time_is_not_foreign(irq_time: str, foreign: float, tmp_path: Path) -> None:
    record = host(tmp_path, (200, 0, 90, 840, 10, 10, 50, 0), irq_time)
    assert record.foreign_ratio == pytest.approx(foreign, abs=1e-9)


def test_a_window_too_short_for_the_hosts_clock_tells_nothing_of_it(tmp_path: Path) -> None:
    short = host(tmp_path / "a", (29, 0, 0, 70, 0, 0, 0, 0), seconds=0.5)
    assert short.foreign_ratio is None and short.steal_ratio is None
    assert "too short" in short.nulls["steal_ratio"]
    assert host(tmp_path / "b", (30, 0, 0, 70, 0, 0, 0, 0), seconds=0.5).steal_ratio == 0


def test_a_counter_that_went_back_tells_nothing(tmp_path: Path) -> None:
    record = host(tmp_path, (200, 0, 90, 900, -1, 0, 0, 0))
    assert record.nulls["foreign_ratio"] == record.nulls["steal_ratio"] == "a counter of /proc/stat went back"


def test_without_counters_there_is_no_foreign_cpu_but_steal(tmp_path: Path) -> None:
    line = entry()
    measured(tmp_path, line)
    for name in (line["service"], "postgres", "upstream"):
        for when in ("before", "after"):
            (services_of(tmp_path, line) / f"{name}.{when}").write_text("null no Docker socket here\n")
    record = only_record(tmp_path)
    assert record.valid and record.steal_ratio == 1 / 600
    assert record.nulls["foreign_ratio"] == "no Docker socket here"
    report = report_of(tmp_path)
    assert report.count("no Docker socket here") == 2  # the peak's cell, and one sentence for all CPU time
    assert "CPU time is unknown: no Docker socket here." in report and "CPU time of a request" not in report


@pytest.mark.parametrize(
    "pids, found", [("11 12", False), ("12 11", False), ("11 12 13", False), ("11", True), ("11 14", True)]
)
def test_a_process_that_is_gone_after_the_window_is_a_lost_worker(pids: str, found: bool, tmp_path: Path) -> None:
    record = measured(tmp_path, entry(), after={"pids": pids})
    assert [(cause.cause, cause.detail) for cause in record.causes] == [("server", "lost 1 of its processes")] * found
