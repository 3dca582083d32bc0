"""Makes the evidence for the validity rules, and the record, from the raw files of one measurement.

Pure functions: the same raw files give the same record on any machine, at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.core.files import mapping
from bench.plan.measurement import Measurement
from bench.records.clock_step import is_clock_step
from bench.records.evidence import Evidence, attempts_of, sent_rate_of
from bench.records.knee import NO_SEARCH, as_searched, client_limit, knee_figure
from bench.records.record import ERROR_KINDS, LATENCIES, MEASURED, Cause, Outcome, Record
from bench.records.resource_usage import Figures, change, loadgen_cpu_s, lost_processes, resource_figures, span_s, whole
from bench.records.turns import NO_LATENCY, in_turns, read_turns
from bench.run.common_rates import at_common_rate
from bench.run.reader import Ends, Raw, ServiceFacts
from bench.tools import TOOLS, parse
from bench.tools.parsed import Parsed
from bench.tools.send_lag import read_lag

NOT_RUN = "not run"
CUT_OFF = "cut off"


def evidence_of(planned: Measurement, raw: Raw, service: ServiceFacts) -> Evidence:
    """The evidence on one measurement."""
    planned, no_rate = at_common_rate(as_searched(planned, raw.knee), raw.common_rates)
    outcome, detail = outcome_of(raw, service)
    if no_rate and outcome == NOT_RUN:
        detail = no_rate
    parsed = parse(planned.tool, raw.output) if raw.output is not None else None
    tool = raw.tool or {}
    turns = read_turns(tool) if planned.in_block else None
    if parsed is not None and turns is not None and planned.held:
        parsed = in_turns(parsed, turns)
    goodput = _goodput(planned.tool, parsed)
    ends = (raw.before, raw.after)
    throttled_ns = change(ends, "throttled_ns")
    return Evidence(
        planned=planned,
        outcome=outcome,
        detail=detail,
        faults=raw.faults,
        changes=raw.changes,
        parsed=parsed,
        output=raw.output or b"",
        exit_status=whole(tool.get("exit_status")),
        wall_s=_ran_s(tool) if turns is None or not planned.held else turns.seconds,
        sent_rate=sent_rate_of(planned, parsed) if parsed else None,
        goodput=goodput,
        health=_health(tool.get("health_after")),
        oom_kills=_oom_kills(ends),
        restarts=change(ends, "restarts"),
        throttled_s=None if throttled_ns is None else throttled_ns / 1e9,
        stopped=raw.after.get("running") == "false",
        lost=lost_processes(ends),
        lag=read_lag(raw.lag),
        turns=turns,
        tool_cpu_s=loadgen_cpu_s(tool),
        clock_step_s=_clock_step_s(tool),
    )


def make_record(
    evidence: Evidence,
    raw: Raw,
    service: ServiceFacts,
    causes: tuple[Cause, ...],
    *,
    harness: str,
    settings_sha256: str,
) -> Record:
    """The record of one measurement; valid if there are no causes."""
    planned, parsed, tool = evidence.planned, evidence.parsed, raw.tool or {}
    figures = {
        **_service_figures(raw, service),
        **_tool_figures(raw, evidence),
        **_load_figures(evidence),
        **resource_figures(raw, service, evidence),
        **_open_loop_figures(raw, evidence),
    }
    no_output = _why_null(evidence)
    errors = {kind: getattr(parsed.errors, kind) if parsed else None for kind in ERROR_KINDS}
    latency = {key: getattr(parsed.latency_s, key) if parsed else None for key in LATENCIES}
    nulls = {name: reason for name, (value, reason) in figures.items() if value is None}
    nulls |= {f"errors.{kind}": no_output for kind, value in errors.items() if value is None}
    no_latency = NO_LATENCY if planned.held and parsed is not None else no_output
    nulls |= {f"latency_s.{key}": no_latency for key, value in latency.items() if value is None}
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
        outcome=evidence.outcome,
        valid=not causes,
        causes=causes,
        errors=errors,
        latency_kind="open loop" if planned.open_loop else "closed loop",
        latency_s=latency,
        nulls=nulls,
        mode=planned.mode,
        slot=planned.slot,
        window=planned.window,
        block=planned.block,
        settings=planned.settings,
        memory_held_bytes=evidence.turns.held_bytes if evidence.turns else None,
        window_end=evidence.turns.end or None if evidence.turns else None,
        client_limit=client_limit(raw.knee),
        node=_line(raw.meta.get("node")) if raw.meta and raw.meta.get("node") else None,
        **{name: value for name, (value, _) in figures.items()},
    )


def outcome_of(raw: Raw, service: ServiceFacts) -> tuple[str, str]:
    """(outcome of the measurement, details in one line)."""
    if raw.meta is not None:
        outcome, detail = str(raw.meta.get("outcome")), _line(raw.meta.get("detail"))
        return (outcome, detail) if outcome in {*Outcome} else (CUT_OFF, "meta.json does not say what the outcome was")
    if service.failure is not None:
        return service.failure
    if raw.started:
        return CUT_OFF, "no complete meta.json: the run was stopped during this measurement, or is still in it"
    return NOT_RUN, "the run was stopped before this measurement, or has not reached it yet"


def _service_figures(raw: Raw, service: ServiceFacts) -> Figures:
    reason = service.missing.get
    image_id = _text((raw.meta or {}).get("image_id")) or service.image_id
    return {
        "image_id": (image_id, reason("image_id", "")),
        "base_label": (service.base_label, reason("base_label", "")),
        "python_build": (service.python_build, reason("python_build", "")),
        "packages_file": (service.packages_file, reason("packages_file", "")),
        "packages_sha256": (service.packages_sha256, reason("packages_sha256", "")),
        "server_limits": (service.limits, reason("limits", "")),
    }


def _tool_figures(raw: Raw, evidence: Evidence) -> Figures:
    tool = raw.tool or {}
    reason = "tool.json does not say" if raw.tool is not None else _why_absent(evidence, "tool.json")
    argv = tool.get("argv")
    is_command = isinstance(argv, list) and all(isinstance(word, str) for word in argv)
    return {
        "tool_version": (_text(tool.get("tool_version")), reason),
        "command": (tuple(argv) if is_command and argv else None, reason),
        "exit_status": (evidence.exit_status, reason),
        "loadgen_limits": (_limits(tool), reason),
        "raw_sha256": (raw.sha256, _why_absent(evidence, raw.output_file.rpartition("/")[2])),
    }


def _limits(tool: Mapping[str, Any]) -> dict[str, str] | None:
    """Limits and sysctls of the load generator, from tool.json."""
    read = {**mapping(tool.get("limits")), **mapping(tool.get("sysctls"))}
    return {
        str(name): "unlimited" if value is None else " ".join(str(value).split()) for name, value in read.items()
    } or None


def _load_figures(evidence: Evidence) -> Figures:
    """Figures derived only from the tool's output."""
    parsed, reason = evidence.parsed, _why_null(evidence)
    ambiguous = reason
    if parsed is not None and parsed.ok is None and parsed.ok_range is not None:
        ambiguous = f"between {parsed.ok_range[0]} and {parsed.ok_range[1]} answers were good, the output is ambiguous"
    return {
        "requests": (parsed and parsed.requests, reason),
        "attempts": (parsed and attempts_of(evidence.planned.tool, parsed), reason),
        "successes": (parsed and parsed.ok, ambiguous),
        "duration_s": (parsed and parsed.duration_s, reason),
        "goodput": (evidence.goodput, ambiguous),
        "sent_rate": (evidence.sent_rate, reason),
    }


def _goodput(tool: str, parsed: Parsed | None) -> float | None:
    """Successes per second.

    If the printed duration is rounded (5.00 s may be 5.004 s), it is derived from the tool's own rate instead.
    """
    if parsed is None or parsed.ok is None:
        return None
    if parsed.rps is None:
        return parsed.ok / parsed.duration_s if parsed.duration_s else None
    counted = TOOLS[tool].counted_in_rate(parsed) if TOOLS[tool].duration_digit_s else None
    if counted:
        return parsed.rps * parsed.ok / counted
    return parsed.ok / parsed.duration_s if parsed.duration_s else None


def _open_loop_figures(raw: Raw, evidence: Evidence) -> Figures:
    """The send lag, and the knee that was found or confirmed."""
    if not evidence.planned.open_loop:
        return {"lag_s": (None, "closed loop: requests have no schedule"), "knee_rate": (None, NO_SEARCH)}
    reason = "lag.json does not say" if raw.lag is not None else _why_absent(evidence, "lag.json")
    return {
        "lag_s": (evidence.lag and evidence.lag.lag_s, reason),
        "knee_rate": knee_figure(evidence, raw.knee, _why_absent(evidence, "knee.json")),
    }


def _why_absent(evidence: Evidence, file: str) -> str:
    if evidence.outcome == MEASURED:
        return f"{file} is missing"
    return f"{evidence.outcome}: {evidence.detail}"


def _why_null(evidence: Evidence) -> str:
    """Why a figure from the tool's output is null."""
    parsed = evidence.parsed
    if parsed is None:
        return _why_absent(evidence, "the tool's output")
    if parsed.report == "complete":
        return f"{evidence.planned.tool} does not report it"
    return f"output {parsed.report}: {parsed.failure or 'unknown reason'}"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _line(value: Any) -> str:
    """The value as one line of at most 300 characters."""
    text = " ".join(str(value).split()) if value else ""
    return text[:300] or "no detail was saved"


def _oom_kills(ends: Ends) -> int:
    """The number of processes that the kernel killed during the load because memory ran out.

    If the service ended before its load began, there is no earlier count, and all kills so far count. The kernel's
    counter disappears with the container; the container engine's flag stays.
    """
    before, after = ends
    killed = change(ends, "oom_kill") if "oom_kill" in before else whole(after.get("oom_kill"))
    return killed or int(after.get("oom_killed") == "true")


def _ran_s(tool: Mapping[str, Any]) -> float | None:
    """Seconds that the tool ran, by the system clock, which is the most precise, unless it was set meanwhile."""
    elapsed, step_s = whole(tool.get("elapsed_ns")), _clock_step_s(tool)
    if elapsed is not None and step_s is not None and is_clock_step(step_s, elapsed / 1e9):
        return elapsed / 1e9
    return span_s(tool.get("start_ns"), tool.get("end_ns"))


def _clock_step_s(tool: Mapping[str, Any]) -> float | None:
    """By how many seconds the system clock was set while the tool ran; None if unknown."""
    start, end, elapsed = (whole(tool.get(key)) for key in ("start_ns", "end_ns", "elapsed_ns"))
    return None if start is None or end is None or elapsed is None else (end - start - elapsed) / 1e9


def _health(after: Any) -> str | None:
    """The fault of the health check after the window; None if there was none, or no check."""
    answer = mapping(after)
    if not answer or answer.get("status") in range(200, 300):
        return None
    if answer.get("status") is None:
        return _line(answer.get("error") or "no answer")
    return f"status {_line(answer['status'])}"
