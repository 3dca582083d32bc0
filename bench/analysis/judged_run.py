"""A run as its report needs it: records and rankings, written next to the raw files they come from."""

from __future__ import annotations

import json
from pathlib import Path

from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.ranking import Ranking
from bench.core.files import write_file
from bench.records.record import Record, dump
from bench.run.reader import Run, ServiceFacts, read_run, read_service
from bench.validity.run_records import Seen, reviewed, service_names


def judge_run(
    folder: Path, seen: Seen | None = None
) -> tuple[Run, dict[str, ServiceFacts], list[Record], tuple[Ranking, ...]]:
    """Write records.jsonl and verdicts.jsonl of a run, and return what the report is made of."""
    source = read_run(str(folder))
    services = {name: read_service(source.path, name) for name in service_names(source)}
    records = reviewed(source, services, seen)
    absent = {name: ": ".join(facts.failure) for name, facts in services.items() if facts.failure}
    rankings = judge_tables(source.facts, records, absent)
    write_file(folder / "records.jsonl", "".join(dump(records)))
    lines = (line for ranking in rankings for line in ranking.lines())
    write_file(folder / "verdicts.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    return source, services, records, rankings
