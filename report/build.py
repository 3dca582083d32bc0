"""Raw files of a run -> records.jsonl and report.md.

Pure but for its two edges: `rundir` reads, `_write` writes. The same raw files give the same bytes on any
machine: nothing of the clock, the folder's name or this machine gets into them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from report.cli import find_run
from report.errors import UserError
from report.files import write_file
from report.knee import NO_KNEE_ASKED, as_searched, knee_figure
from report.latencies import merged_latencies
from report.parse import Parsed, parse
from report.record import ERROR_KINDS, LATENCIES, MEASURED, Record, dump
from report.rundir import Planned, Raw, Run, ServiceFacts, mapping, read_raw, read_run, read_service
from report.schedule import read_lag
from report.tables.page import page
from report.validity import Evidence, attempts_of, judge, sent_rate_of

NOT_RUN = "not run"
CUT_OFF = "cut off"
OUTCOMES = (MEASURED, "did not start", "died", "answers wrongly", "load tool failed")


def run(argv: Sequence[str]) -> int:
    """`build RUN`: write RUN/records.jsonl and RUN/report.md; UserError when RUN is no results folder."""
    if len(argv) != 1:
        raise UserError("usage: python -m report build RUN")
    folder = find_run(argv[0])
    source = read_run(str(folder))
    services = {name: read_service(source.path, name) for name in service_names(source)}
    records = list(build_records(source, services))
    try:
        write_file(folder / "records.jsonl", "".join(dump(records)))
        write_file(folder / "report.md", page(source, services, records, merged_latencies(source.path, records)))
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}; make room there, or mend its owner") from error
    return 0


def service_names(source: Run) -> list[str]:
    """Every service of the run: run.json's order first, then those that only the plan knows."""
    listed = [name for name in mapping(source.facts.get("services")) if "/" not in name and name != ".."]
    return list(dict.fromkeys([*listed, *(planned.service for planned in source.planned)]))


def build_records(source: Run, services: Mapping[str, ServiceFacts]) -> Iterator[Record]:
    """One record for each planned measurement, in plan order, whatever became of it."""
    harness = harness_of(source.facts)
    for planned in source.planned:
        raw = read_raw(source.path, planned)
        yield make_record(planned, raw, services[planned.service], harness, source.settings_sha256)


def harness_of(facts: Mapping[str, Any]) -> str:
    """The harness's version and content hash in one word, as run.json has them."""
    harness = mapping(facts.get("harness"))
    return f"{harness.get('version', 'unknown')} {str(harness.get('hash', ''))[:12]}".strip()


def make_record(planned: Planned, raw: Raw, service: ServiceFacts, harness: str, settings_sha256: str) -> Record:
    """The record of one measurement: pure."""
    outcome, detail = _outcome(raw, service)
    planned = as_searched(planned, raw.knee)
    parsed = parse(planned.tool, raw.output) if raw.output is not None else None
    tool = raw.tool or {}
    goodput = _goodput(planned.tool, parsed)
    throttled_ns = _change(raw, "throttled_ns")
    evidence = Evidence(
        asked=planned,
        outcome=outcome,
        detail=detail,
        faults=raw.faults,
        parsed=parsed,
        output=raw.output or b"",
        exit_status=_whole(tool.get("exit_status")),
        wall_s=_span_s(tool.get("start_ns"), tool.get("end_ns")),
        sent_rate=sent_rate_of(planned, parsed) if parsed else None,
        goodput=goodput,
        health=_health(tool.get("health_after")),
        # The kernel's counter goes with the container; the engine's word on it stays.
        oom_kills=_change(raw, "oom_kill") or int(raw.after.get("oom_killed") == "true"),
        restarts=_change(raw, "restarts"),
        throttled_s=None if throttled_ns is None else throttled_ns / 1e9,
        stopped=raw.after.get("running") == "false",
        lag=read_lag(raw.lag),
    )
    causes = judge(evidence)
    figures = {
        **_service_figures(raw, service),
        **_tool_figures(raw, evidence),
        **_load_figures(evidence),
        **_resource_figures(raw, evidence),
        **_open_loop_figures(raw, evidence),
    }
    silent = _why_silent(evidence)
    errors = {kind: getattr(parsed.errors, kind) if parsed else None for kind in ERROR_KINDS}
    latency = {key: getattr(parsed.latency_s, key) if parsed else None for key in LATENCIES}
    nulls = {name: reason for name, (value, reason) in figures.items() if value is None}
    nulls |= {f"errors.{kind}": silent for kind, value in errors.items() if value is None}
    nulls |= {f"latency_s.{key}": silent for key, value in latency.items() if value is None}
    return Record(
        id=planned.id,
        round=planned.round,
        position=planned.position,
        service=planned.service,
        server=planned.server,
        framework=planned.framework,
        python=planned.python,
        base=planned.base,
        package=planned.package,
        scenario=planned.scenario,
        tool=planned.tool,
        level=planned.level,
        connections=planned.connections,
        rate=planned.rate,
        count=planned.count,
        asked_s=planned.duration_s,
        harness=harness,
        stdin=_text(tool.get("stdin")),
        settings_sha256=settings_sha256,
        raw_file=raw.output_file,
        outcome=outcome,
        valid=not causes,
        causes=causes,
        errors=errors,
        latency_kind="open loop" if planned.open_loop else "closed loop",
        latency_s=latency,
        nulls=nulls,
        **{name: value for name, (value, _) in figures.items()},
    )


Figures = dict[str, tuple[Any, str]]
"""Fields of a record, each with the reason that stands for it when it is null."""


def _outcome(raw: Raw, service: ServiceFacts) -> tuple[str, str]:
    """What became of the measurement, and the facts of it in one line."""
    if raw.meta is not None:
        outcome, detail = str(raw.meta.get("outcome")), _line(raw.meta.get("detail"))
        return (outcome, detail) if outcome in OUTCOMES else (CUT_OFF, "meta.json does not tell the outcome")
    if service.failure is not None:
        return service.failure
    if raw.started:
        return CUT_OFF, "no complete meta.json: the run was stopped in this measurement, or is in it"
    return NOT_RUN, "the run was stopped before this measurement, or has not come to it"


def _service_figures(raw: Raw, service: ServiceFacts) -> Figures:
    reason = service.missing.get
    image_id = _text((raw.meta or {}).get("image_id")) or service.image_id
    return {
        "image_id": (image_id, reason("image_id", "")),
        "base_label": (service.base_label, reason("base_label", "")),
        "python_build": (service.python_build, reason("python_build", "")),
        "packages_file": (service.packages_file, reason("packages_file", "")),
        "packages_sha256": (service.packages_sha256, reason("packages_sha256", "")),
    }


def _tool_figures(raw: Raw, evidence: Evidence) -> Figures:
    tool = raw.tool or {}
    silent = "tool.json does not tell" if raw.tool is not None else _why_absent(evidence, "tool.json")
    argv = tool.get("argv")
    words = isinstance(argv, list) and all(isinstance(word, str) for word in argv)
    return {
        "tool_version": (_text(tool.get("tool_version")), silent),
        "command": (tuple(argv) if words and argv else None, silent),
        "exit_status": (evidence.exit_status, silent),
        "raw_sha256": (raw.sha256, _why_absent(evidence, raw.output_file.rpartition("/")[2])),
    }


def _load_figures(evidence: Evidence) -> Figures:
    """What the tool's output holds, and what follows from it alone."""
    parsed, silent = evidence.parsed, _why_silent(evidence)
    ambiguous = silent
    if parsed is not None and parsed.ok is None and parsed.ok_range is not None:
        ambiguous = f"between {parsed.ok_range[0]} and {parsed.ok_range[1]} answers were good, the output cannot tell"
    return {
        "requests": (parsed and parsed.requests, silent),
        "attempts": (parsed and attempts_of(evidence.asked.tool, parsed), silent),
        "successes": (parsed and parsed.ok, ambiguous),
        "duration_s": (parsed and parsed.duration_s, silent),
        "goodput": (evidence.goodput, ambiguous),
        "sent_rate": (evidence.sent_rate, silent),
    }


def _goodput(tool: str, parsed: Parsed | None) -> float | None:
    """Successes per second.

    From the tool's own rate where that counts every completed request, because its duration is rounded:
    5.00 s may be 5.004 s.
    """
    if parsed is None or parsed.ok is None:
        return None
    counted = parsed.attempts if tool == "hey" else parsed.requests if tool in ("wrk", "ab") else None
    if counted and parsed.rps is not None:
        return parsed.rps * parsed.ok / counted
    return parsed.ok / parsed.duration_s if parsed.duration_s else None


def _resource_figures(raw: Raw, evidence: Evidence) -> Figures:
    no_counters = _why_no_counters(raw, evidence)
    cpu_ns = _change(raw, "cpu_usage_ns")
    successes = evidence.parsed and evidence.parsed.ok
    per_success = cpu_ns / 1e9 / successes if cpu_ns is not None and successes else None
    loadgen_s, steal = _loadgen_cpu_s(raw.tool), _steal_ratio(raw.tool)
    silent = "tool.json does not tell" if raw.tool is not None else _why_absent(evidence, "tool.json")
    return {
        "server_cpu_s": (None if cpu_ns is None else cpu_ns / 1e9, no_counters),
        "loadgen_cpu_s": (loadgen_s, silent),
        "cpu_per_success_s": (per_success, no_counters if cpu_ns is None else "no success is known"),
        "memory_peak_bytes": (_whole(raw.after.get("memory_peak_bytes")), no_counters),
        "throttled_s": (evidence.throttled_s, no_counters),
        "steal_ratio": (steal, silent),
    }


def _open_loop_figures(raw: Raw, evidence: Evidence) -> Figures:
    """How far vegeta kept to its schedule, and the rate that a search found or that held."""
    if not evidence.asked.open_loop:
        return {"lag_s": (None, "closed loop: no time is asked for"), "knee_rate": (None, NO_KNEE_ASKED)}
    silent = "lag.json does not tell" if raw.lag is not None else _why_absent(evidence, "lag.json")
    return {
        "lag_s": (evidence.lag and evidence.lag.lag_s, silent),
        "knee_rate": knee_figure(evidence, raw.knee, _why_absent(evidence, "knee.json")),
    }


def _why_absent(evidence: Evidence, file: str) -> str:
    if evidence.outcome == MEASURED:
        return f"{file} is missing"
    return f"{evidence.outcome}: {evidence.detail}"


def _why_silent(evidence: Evidence) -> str:
    """Why a figure of the tool's output is null."""
    parsed = evidence.parsed
    if parsed is None:
        return _why_absent(evidence, "the tool's output")
    if parsed.report == "complete":
        return f"{evidence.asked.tool} does not tell"
    return f"output {parsed.report}: {parsed.failure or 'no reason known'}"


def _why_no_counters(raw: Raw, evidence: Evidence) -> str:
    reasons = [counters["null"] for counters in (raw.before, raw.after) if "null" in counters]
    if evidence.outcome != MEASURED:
        return f"{evidence.outcome}: {evidence.detail}"
    return reasons[0] if reasons else "the server's counters do not tell"


def _change(raw: Raw, key: str) -> int | None:
    """How far a counter of the server went over the window; one that went back (a restart) tells nothing."""
    before, after = _whole(raw.before.get(key)), _whole(raw.after.get(key))
    return after - before if before is not None and after is not None and after >= before else None


def _whole(value: Any) -> int | None:
    """A whole number that is one, or is written as one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    return value if isinstance(value, int) and abs(value) < 1 << 63 else None


def _span_s(start_ns: Any, end_ns: Any) -> float | None:
    start, end = _whole(start_ns), _whole(end_ns)
    return (end - start) / 1e9 if start is not None and end is not None and end >= start else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _line(value: Any) -> str:
    """One line of at most 300 characters."""
    text = " ".join(str(value).split()) if value else ""
    return text[:300] or "no detail was saved"


def _health(after: Any) -> str | None:
    """What was wrong with the answer after the window; None: nothing, or it was not asked."""
    answer = mapping(after)
    if not answer or answer.get("status") == 200:
        return None
    if answer.get("status") is None:
        return _line(answer.get("error") or "no answer")
    return f"status {_line(answer['status'])}"


_V2_USAGE = re.compile(r"^usage_usec (\d{1,18})$", re.M | re.A)


def _loadgen_cpu_s(tool: Mapping[str, Any] | None) -> float | None:
    """CPU seconds of the load generator over the window, from cgroup v1's cpuacct.usage or v2's cpu.stat."""
    ends = [_cgroup_cpu_ns(mapping(mapping((tool or {}).get(when)).get("loadgen"))) for when in ("before", "after")]
    return _span_s(*ends)


def _cgroup_cpu_ns(counters: Mapping[str, Any]) -> int | None:
    usage = counters.get("cpuacct.usage")
    if isinstance(usage, str):
        return _whole(usage.strip())
    found = _V2_USAGE.search(counters["cpu.stat"]) if isinstance(counters.get("cpu.stat"), str) else None
    return int(found[1]) * 1000 if found else None


def _steal_ratio(tool: Mapping[str, Any] | None) -> float | None:
    """Share of the host's CPU time that the hypervisor took, from the first lines of /proc/stat."""
    ends = [_cpu_times(mapping((tool or {}).get(when)).get("proc_stat")) for when in ("before", "after")]
    if ends[0] is None or ends[1] is None:
        return None
    spent = [after - before for before, after in zip(*ends, strict=True)]
    return spent[7] / sum(spent) if sum(spent) > 0 and min(spent) >= 0 else None


def _cpu_times(line: Any) -> list[int] | None:
    """User nice system idle iowait irq softirq steal, in clock ticks (guest time is in user already)."""
    words = line.split() if isinstance(line, str) else []
    if len(words) < 9 or words[0] != "cpu":
        return None
    times = [_whole(word) for word in words[1:9]]
    return [time for time in times if time is not None] if None not in times else None
