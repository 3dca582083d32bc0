"""Makes the evidence for the validity rules, and the record, from the raw files of one measurement.

Pure functions: the same raw files give the same record on any machine, at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.core.files import mapping
from bench.plan.measurement import WHOSE, Measurement
from bench.records.counters import change, clock_step_s, loadgen_cpu_s, lost_processes, oom_kills, ran_s, whole
from bench.records.evidence import Evidence
from bench.records.knee import NO_SEARCH, as_searched, client_limit, knee_figure
from bench.records.outcome import NOT_RUN, health_fault, one_line, outcome_of
from bench.records.record import ERROR_KINDS, FIGURES, LATENCIES, MEASURED, Cause, Record
from bench.records.resource_usage import Figures, resource_figures
from bench.records.turns import NO_LATENCY, in_turns, read_turns
from bench.run.common_rates import at_common_rate
from bench.run.reader import Raw, ServiceFacts
from bench.tools import attempts_of, goodput_of, parse, sent_rate_of
from bench.tools.send_lag import read_lag

OF_THE_PLAN = (*WHOSE, "position", "tool", "level", "connections", "rate", "count", "mode", "slot", "window", "block")
"""The fields of a record that are those of the plan."""


def as_loaded(planned: Measurement, raw: Raw) -> tuple[Measurement, str]:
    """The measurement with the rate that the run decided for it; and why it has no common rate, or an empty string."""
    return at_common_rate(as_searched(planned, raw.knee), raw.common_rates)


def evidence_of(planned: Measurement, raw: Raw, service: ServiceFacts, no_rate: str = "") -> Evidence:
    """The evidence on one measurement, as it was loaded; `no_rate`: why it has no common rate."""
    tool, ends = raw.tool or {}, (raw.before, raw.after)
    outcome, detail = outcome_of(raw, service)
    health = health_fault(planned, tool.get("health_after"))
    turns = read_turns(tool) if planned.in_block else None
    held = turns if planned.stopped else None
    throttled_ns = change(ends, "throttled_ns")
    parsed = None if raw.output is None else in_turns(parse(planned.tool, raw.output, planned.exchange.redirects), held)
    return Evidence(
        planned=planned,
        outcome=outcome,
        detail=no_rate if no_rate and outcome == NOT_RUN else detail,
        health=health,
        faults=raw.faults,
        changes=raw.changes,
        exit_status=whole(tool.get("exit_status")),
        wall_s=ran_s(tool) if held is None else held.seconds,
        clock_step_s=clock_step_s(tool),
        oom_kills=oom_kills(ends),
        restarts=change(ends, "restarts"),
        throttled_s=None if throttled_ns is None else throttled_ns / 1e9,
        stopped=raw.after.get("running") == "false",
        lost=lost_processes(ends),
        tool_cpu_s=loadgen_cpu_s(tool),
        opened=whole(tool.get("opened")),
        turns=turns,
        output=raw.output or b"",
        parsed=parsed,
        goodput=goodput_of(planned.tool, parsed),
        sent_rate=sent_rate_of(planned.tool, planned.rate, parsed) if parsed else None,
        lag=read_lag(raw.lag),
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
    nulls = {name: reason for name, (value, reason) in figures.items() if value is None and name in FIGURES}
    nulls |= {f"errors.{kind}": no_output for kind, value in errors.items() if value is None}
    no_latency = NO_LATENCY if planned.stopped and parsed is not None else no_output
    nulls |= {f"latency_s.{key}": no_latency for key, value in latency.items() if value is None}
    return Record(
        **{name: getattr(planned, name) for name in OF_THE_PLAN},
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
        window_end=evidence.turns.end or None if evidence.turns else None,
        client_limit=client_limit(raw.knee),
        node=one_line(raw.meta.get("node")) if raw.meta and raw.meta.get("node") else None,
        **{name: value for name, (value, _) in figures.items()},
    )


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
