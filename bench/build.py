"""Raw files of a run -> records.jsonl, report.md and index.html.

Pure but for its two edges: `rundir` reads, `_write` writes. The same raw files give the same bytes on any
machine: nothing of the clock, the folder's name or this machine gets into them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cli import find_run
from bench.duets import Judged, judge_pairs, pairs_of
from bench.errors import UserError
from bench.files import write_file
from bench.gate import limits_of, review
from bench.knee import NO_KNEE_ASKED, as_searched, knee_figure
from bench.latencies import merged_latencies
from bench.page.document import html
from bench.page.windows import Window, window_of
from bench.parse import Parsed, parse
from bench.record import ERROR_KINDS, LATENCIES, MEASURED, Record, dump
from bench.resources import Figures, change, lost_processes, resource_figures, span_s, whole
from bench.rundir import Planned, Raw, Run, ServiceFacts, mapping, read_raw, read_run, read_service
from bench.schedule import read_lag
from bench.tables.page import content, markdown
from bench.validity import Evidence, attempts_of, judge, sent_rate_of

NULL_FACTS = ServiceFacts(
    name="null",
    missing=dict.fromkeys(
        ("image_id", "base_label", "python_build", "packages_file", "packages_sha256"), "the null server has no Python"
    ),
    idle={"null": "the null server is a control"},
)
NOT_RUN = "not run"
CUT_OFF = "cut off"
OUTCOMES = (MEASURED, "did not start", "died", "answers wrongly", "load tool failed")


def run(argv: Sequence[str]) -> int:
    """`build RUN`: write records.jsonl, report.md and index.html there; UserError when RUN is no results folder."""
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench build RUN")
    folder = find_run(argv[0])
    windows: list[Window] = []
    try:
        source, services, records, judged = judge_run(folder, windows)
        latencies = merged_latencies(source.path, [record for record in records if record.mode == "solo"])
        words = content(source, services, records, judged, latencies)
        write_file(folder / "report.md", markdown(words))
        made = html(source, services, records, judged, windows=windows, latencies=latencies, words=words)
        write_file(folder / "index.html", made)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}; make room there, or mend its owner") from error
    return 0


def judge_run(
    folder: Path, windows: list[Window] | None = None
) -> tuple[Run, dict[str, ServiceFacts], list[Record], Judged]:
    """Write records.jsonl and verdicts.jsonl of a run, and return what pages are made of."""
    source = read_run(str(folder))
    services = {name: read_service(source.path, name) for name in service_names(source)}
    records = reviewed(source, services, windows)
    judged = judge_pairs(pairs_of(source.facts), records)
    write_file(folder / "records.jsonl", "".join(dump(records)))
    write_file(folder / "verdicts.jsonl", "".join(f"{json.dumps(line)}\n" for line in judged.lines()))
    return source, services, records, judged


def service_names(source: Run) -> list[str]:
    """Every service of the run: run.json's order first, then those that only the plan knows."""
    listed = [name for name in mapping(source.facts.get("services")) if "/" not in name and name != ".."]
    named = [*listed, *(planned.service for planned in source.planned if planned.mode != "null")]
    return list(dict.fromkeys(named))


def settled_pairs(source: Run) -> set[str]:
    """The pairs that have their verdict, or have no use for more rounds: they are not measured on."""
    services = {name: read_service(source.path, name) for name in service_names(source)}
    return judge_pairs(pairs_of(source.facts), reviewed(source, services)).settled


def reviewed(source: Run, services: Mapping[str, ServiceFacts], windows: list[Window] | None = None) -> list[Record]:
    """The run's records as the gate leaves them when it has seen them all; `windows` gets what else the page shows."""
    return review(build_records(source, services, windows), limits_of(mapping(source.facts.get("knobs"))))


def build_records(
    source: Run, services: Mapping[str, ServiceFacts], windows: list[Window] | None = None
) -> Iterator[Record]:
    """One record for each planned measurement, in plan order, whatever became of it.

    A pair that has its verdict is not measured on: windows that never began have no record, nor have the controls of
    rounds that were there for pairs alone.
    """
    harness = harness_of(source.facts)
    solo_rounds = whole(source.facts.get("rounds")) or 0
    for planned in source.planned:
        raw = read_raw(source.path, planned)
        service = services.get(planned.service) or NULL_FACTS
        if not raw.started and (planned.mode == "duet" or (planned.mode == "null" and planned.round > solo_rounds)):
            continue
        if windows is not None:
            windows.append(window_of(raw))
        yield make_record(planned, raw, service, harness, source.settings_sha256)


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
    ends = (raw.before, raw.after)
    throttled_ns = change(ends, "throttled_ns")
    evidence = Evidence(
        asked=planned,
        outcome=outcome,
        detail=detail,
        faults=raw.faults,
        parsed=parsed,
        output=raw.output or b"",
        exit_status=whole(tool.get("exit_status")),
        wall_s=span_s(tool.get("start_ns"), tool.get("end_ns")),
        sent_rate=sent_rate_of(planned, parsed) if parsed else None,
        goodput=goodput,
        health=_health(tool.get("health_after")),
        # The kernel's counter goes with the container; the engine's word on it stays.
        oom_kills=change(ends, "oom_kill") or int(raw.after.get("oom_killed") == "true"),
        restarts=change(ends, "restarts"),
        throttled_s=None if throttled_ns is None else throttled_ns / 1e9,
        stopped=raw.after.get("running") == "false",
        lost=lost_processes(ends),
        lag=read_lag(raw.lag),
    )
    causes = judge(evidence)
    figures = {
        **_service_figures(raw, service),
        **_tool_figures(raw, evidence),
        **_load_figures(evidence),
        **resource_figures(raw, service, evidence),
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
        mode=planned.mode,
        pair=planned.pair,
        side=planned.side,
        slot=planned.slot,
        window=planned.window,
        **{name: value for name, (value, _) in figures.items()},
    )


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
        "server_limits": (service.limits, reason("limits", "")),
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
        "loadgen_limits": (_limits(tool), silent),
        "raw_sha256": (raw.sha256, _why_absent(evidence, raw.output_file.rpartition("/")[2])),
    }


def _limits(tool: Mapping[str, Any]) -> dict[str, str] | None:
    """Limits and sysctls of the load generator, as tool.json has them."""
    read = {**mapping(tool.get("limits")), **mapping(tool.get("sysctls"))}
    return {
        str(name): "unlimited" if value is None else " ".join(str(value).split()) for name, value in read.items()
    } or None


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
