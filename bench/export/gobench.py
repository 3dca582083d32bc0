"""Go's benchmark format (golang.org/design/14313-benchmark-format): benchstat reads it.

One line per round: benchstat's samples. Invalid measurements have no line; a comment counts them. The `key: value`
lines hold everything that figures depend on: if one differs between two runs, benchstat makes separate tables. `ns/op`
is the time per successful response (1/goodput, not a latency), `cpu-ns/op` its CPU time. A load at a target rate does
not show a speed, so it only has the latter. Latencies are left out, since benchstat would take medians of percentiles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.analysis.runs.compatibility import FREE_SETTINGS
from bench.core.groups import grouped
from bench.export.columns import contrasts_of
from bench.records.record import Record
from bench.run.facts import RunFacts
from bench.run.reader import Run

UNITS = {"ns/op": "lower", "req/s": "higher", "cpu-ns/op": "lower", "memory-B": "lower"}
"""Units, and whether lower or higher values are better."""
_NO_WORD = re.compile(r"[/\s]")
"""Characters that would end a key's value."""


def write(run: str, source: Run, records: Iterable[Record], _: str = "") -> bytes:
    """The content of the file."""
    all_records = list(records)
    lines = [(_load(group[0]), line) for group in _rounds(all_records) if (line := _line(group))]
    parts = [
        f"# run: {_one_line(run)}",
        *_left_out(all_records),
        *_not_called(source),
        *_configuration(source.facts),
        *(f"Unit {unit} better={better}" for unit, better in UNITS.items()),
    ]
    for load, of_load in grouped(lines, lambda pair: pair[0]).items():
        parts += ["", f"load: {load}", *(line for _, line in of_load)]
    return ("\n".join(parts) + "\n").encode()


def _left_out(records: Sequence[Record]) -> Iterator[str]:
    """Comments that count the measurements without a line, by reason."""
    causes = Counter(record.causes[0].cause for record in records if not record.valid)
    yield f"# left out, not valid: {sum(causes.values())} of {len(records)} measurements"
    yield from (f"# left out, {_one_line(cause)}: {count}" for cause, count in sorted(causes.items()))
    if controls := sum(record.mode == "null" for record in records if record.valid):
        yield f"# left out, the null server, a control: {controls}"


def _not_called(source: Run) -> Iterator[str]:
    """Comments on pairs of tables in turns that have no verdict, with the detectable difference."""
    for line in contrasts_of(source.path):
        size = line.get("smallest_visible")
        if isinstance(size, float):
            table = " ".join(str(line.get(name)) for name in ("scenario", "tool", "level"))
            pair = f"{line.get('b')} against {line.get('a')}"
            words = _one_line(f"{table}, {pair}: {line.get('verdict')}")
            yield f"# {words}; differences below {100 * size:.1f} % would go unnoticed"


def _configuration(facts: RunFacts) -> Iterator[str]:
    """The `key: value` lines, which are equal in comparable runs."""
    yield f"harness: {_one_line(facts.harness.hash or 'unknown')[:12]}"
    for name in ("engine", "containers"):
        yield f"{name}: {_one_line(getattr(facts, name) or 'unknown')}"
    host = dict(facts.host)
    if isinstance(size := host.get("memory_bytes"), int):
        # It may differ slightly between two boots of one machine.
        host["memory_bytes"] = round(size, -9)
    facts_of_host = (f"{name} {'unknown' if value is None else value}" for name, value in host.items())
    yield f"host: {_one_line(', '.join(facts_of_host)) or 'unknown'}"
    knobs = {name: value for name, value in facts.knobs.items() if name not in FREE_SETTINGS}
    yield f"knobs: {_one_line(' '.join(f'{name}={knobs[name]}' for name in sorted(knobs))) or 'unknown'}"


def _load(record: Record) -> str:
    """The tool and the duration of its load: a `key: value` line before the benchmarks that it applies to."""
    duration = "by count" if record.asked_s is None else f"{record.asked_s:g} s"
    # Speeds in turns and alone are not comparable; a different `load` makes benchstat separate them.
    turns = " in turns" if record.mode == "turns" else ""
    return _one_line(f"{record.tool} {record.tool_version or 'of unknown version'}, {duration}{turns}")


def _rounds(records: Iterable[Record]) -> list[list[Record]]:
    """The records for each line: a valid solo record, or all windows of a service in one round of turns, if valid."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if record.mode == "solo" and record.valid:
            groups[(record.id,)] = [record]
        elif record.mode == "turns":
            groups.setdefault((str(record.load), record.service, str(record.round)), []).append(record)
    return [group for group in groups.values() if all(record.valid for record in group)]


def _line(group: Sequence[Record]) -> str | None:
    """One benchmark line; None if no unit has a value."""
    if not (successes := sum(record.successes or 0 for record in group)):
        return None
    values = {unit: value for unit, value in _values(group, successes).items() if value is not None}
    figures = "\t".join(f"{value:.9g} {unit}" for unit, value in values.items())
    return f"{name_of(group[0])}\t{successes}\t{figures}" if values else None


def _values(group: Sequence[Record], successes: int) -> Mapping[str, float | None]:
    speed = None
    if all(record.goodput and record.rate is None for record in group):
        speed = successes / sum((record.successes or 0) / (record.goodput or 1) for record in group)
    cpu = None
    if all(record.cpu_per_success_s is not None for record in group):
        cpu = sum((record.cpu_per_success_s or 0) * (record.successes or 0) for record in group) / successes
    sizes = [record.memory_loaded_bytes for record in group if record.memory_loaded_bytes is not None]
    return {
        "ns/op": 1e9 / speed if speed else None,
        "req/s": speed,
        "cpu-ns/op": None if cpu is None else cpu * 1e9,
        "memory-B": max(sizes, default=None),
    }


def name_of(record: Record) -> str:
    """`BenchmarkQueries20Raw/server=uvicorn/.../level=c64/tool=wrk`: a final -4 would be read as 4 CPUs."""
    words = re.findall(r"[A-Za-z0-9]+", record.scenario)
    keys = {"server": record.server, "framework": record.framework, "python": record.python, "base": record.base}
    keys |= {"package": record.package or ""}
    keys |= {name.lower(): value for name, value in record.settings.items()}
    keys |= {"level": record.level.text, "tool": record.tool}
    parts = [f"{key}={_NO_WORD.sub('_', value)}" for key, value in keys.items() if value]
    return "/".join(["Benchmark" + "".join(word[:1].upper() + word[1:] for word in words), *parts])


def _one_line(text: str) -> str:
    return " ".join(text.split())
