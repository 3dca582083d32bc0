"""Judges a run in which something was killed, and makes the table of all moments.

RUN/fault.txt says what was done and what was left (`key value` lines, by tests/faults/moment.bash). RUN/first.jsonl has
the records of the call that was hit, RUN/first.log its output. The rest is in the run itself. Records of events are
judged like those of windows.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.files import as_object, items, mapping, read_bytes
from bench.records.record import MEASURED, Outcome
from bench.run.reader import read_run
from tests.faults.draw import PHASES, SUBJECTS

CONTAINERS = ("server", "server-worker", "loadgen", "postgres", "upstream")
"""If one of these is killed, the script must recover by itself."""
KILLED = {"script": (137,), "group": (137,), "worker": (137,), "hangup": (130,)}
"""The allowed exit statuses of a script that was killed, or whose worker was."""
ENDED = (Outcome.DIED, Outcome.NOT_STARTED)
BUSY = ("host", "loadgen-bound", "load not as requested", "arithmetic", "the client was starved")
"""Causes of an invalid window that only mean that other programs used the CPU."""
LEFT = ("containers", "networks", "volumes", "processes")
USES = {"postgres": ("db-", "database"), "upstream": ("simple-request-", "upstream")}
"""Prefixes of the scenarios, and of the cases of events, that need a dependency."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`facts`: those of fault.txt. `faults`: what went wrong; empty if the run survived."""

    facts: Mapping[str, str]
    faults: tuple[str, ...]

    @property
    def tried(self) -> bool:
        """Whether there was something to kill."""
        return self.facts.get("tried") == "1"

    def as_json(self) -> dict[str, Any]:
        """The facts for `table`."""
        named = {key: self.facts.get(key, "") for key in ("number", "subject", "phase", "victim")}
        return {**named, "tried": self.tried, "faults": list(self.faults)}

    def line(self) -> str:
        """A line for the terminal."""
        facts = self.facts
        words = "survived" if self.tried else "was over before; survived"
        if self.faults:
            words = f"FAILED: {'; '.join(self.faults)}"
        return f"{facts.get('number')} {facts.get('subject')} ({facts.get('victim')}) in {facts.get('phase')}: {words}"


def judge(run: Path) -> Verdict:
    """The verdict on a run that was hit and resumed."""
    facts = dict(line.partition(" ")[::2] for line in (run / "fault.txt").read_text().splitlines())
    return Verdict(facts, tuple(_faults(run, facts)))


def _faults(run: Path, facts: Mapping[str, str]) -> Iterator[str]:
    planned = [mapping(as_object(line)) for line in (run / "plan.jsonl").read_bytes().splitlines()]
    records = read_records(run / "records.jsonl", run / "events.jsonl")
    yield from once(planned, records)
    yield from whole(run, records)
    yield from _measured(facts, records)
    yield from (f"{facts.get(name)} {name} left" for name in LEFT if facts.get(name) != "0")
    yield from _statuses(facts)
    if facts.get("subject") in CONTAINERS and facts.get("tried") == "1" and facts.get("anew") != "yes":
        first = read_records(run / "first.jsonl")
        # A service that is not loaded has records only in the first round.
        gone = {one["id"] for one in planned if one.get("service") == facts.get("victim")}
        found = {str(record.get("id")) for record in first if record}
        due = [one for one in planned if one["id"] not in gone - found]
        yield from (f"the call that was hit: {fault}" for fault in once(due, first))
        yield from wrongly_valid(run, facts, first)
        yield from _unsaid(run, facts, first)


def read_records(*paths: Path) -> list[Mapping[str, Any] | None]:
    """One record per line; None for a line that is not a JSON object."""
    lines = (line for path in paths for line in (read_bytes(str(path)) or b"").splitlines())
    return [_as_window(as_object(line)) for line in lines]


def _as_window(record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Converts the record of an event to one with outcome and causes, like a window's; returns others unchanged."""
    if record is None or "ended" not in record:
        return record
    done, detail = record["ended"] == "done", str(record.get("detail"))
    words = [*record["causes"]] if done else [detail]
    if done and record.get("happened") is False:
        words.append(f"it did not happen: {record.get('happened_by')}")
    causes = [dict(zip(("cause", "detail"), word.partition(": ")[::2], strict=True)) for word in words]
    return {**record, "outcome": MEASURED if done else causes[0]["cause"], "valid": not causes, "causes": causes}


def once(planned: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    """Faults: planned measurements that are not in the records exactly once, and records that were not planned."""
    found = Counter(str(record.get("id")) for record in records if record is not None)
    wanted = {str(one["id"]) for one in planned}
    if None in records:
        yield "a record is no whole line"
    for name, words in (
        (sorted(wanted - found.keys()), "without a record"),
        (sorted(found.keys() - wanted), "not planned"),
        (sorted(one for one, count in found.items() if count > 1), "more than once in the records"),
    ):
        if name:
            yield f"{words}: {', '.join(name)}"


def whole(run: Path, records: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    """Faults: incomplete files that were accepted as complete."""
    source = read_run(str(run))
    if source.changed:
        yield f"changed since it was planned: {', '.join(source.changed)}"
    for one in source.planned:
        folder = run / one.dir
        if not (folder / "meta.json").exists():
            continue
        meta = as_object(read_bytes(str(folder / "meta.json")) or b"")
        if meta is None:
            yield f"{one.dir}/meta.json is not whole"
            continue
        for name, digest in mapping(meta.get("sha256")).items():
            if hashlib.sha256(read_bytes(str(folder / name)) or b"").hexdigest() != digest:
                yield f"{one.dir}/{name} is not what meta.json says"
    for record in records:
        causes = {cause["cause"] for cause in items(record.get("causes"))} if record else set()
        if causes & {"changed", "output"}:
            yield f"{record and record.get('id')} is not valid: {', '.join(sorted(causes))}"
    page = (read_bytes(str(run / "index.html")) or b"").rstrip()
    if not page.endswith(b"</html>") or not (run / "report.md").exists():
        yield "no whole page"


def _measured(facts: Mapping[str, str], records: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    """Faults: measurements that are missing in the end, except those in which the service itself was killed."""
    for record in records:
        if record is None or record.get("outcome") == MEASURED:
            causes = [cause for cause in items(record and record.get("causes")) if cause["cause"] not in BUSY]
            allowed = record and facts.get("subject") in CONTAINERS and facts.get("victim") == record.get("service")
            if causes and not allowed:
                yield f"{record and record.get('id')} is not valid: {causes[0]['cause']}: {causes[0]['detail']}"
            continue
        # A server that is killed before its first answer counts as not started.
        if facts.get("victim") != record.get("service") or record.get("outcome") not in ENDED:
            yield f"{record.get('id')} is not measured: {record.get('outcome')}"


def _statuses(facts: Mapping[str, str]) -> Iterator[str]:
    subject, status = facts.get("subject", ""), int(facts.get("status") or -1)
    if facts.get("tried") == "1":
        allowed = KILLED.get(subject, (0,) if subject in CONTAINERS else (0, 1))
        if status not in allowed:
            yield f"the script ended with status {status}, not {' or '.join(map(str, allowed))}"
    resumed = facts.get("resumed", "").split()
    if not resumed or resumed[-1] != "0":
        yield f"--resume ended with {' '.join(resumed) or 'nothing'}"
    elif subject not in ("daemon", "restart") and resumed.count("0") < len(resumed):
        yield f"--resume had to be tried {len(resumed)} times"


def wrongly_valid(run: Path, facts: Mapping[str, str], first: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    """Faults: windows that count although something that they need was killed in between."""
    killed, victim = int(facts.get("killed_ns") or 0), facts.get("victim", "")
    for record in first:
        if record is None or not record.get("valid"):
            continue
        if victim not in ("loadgen", record.get("service")) and not _uses(victim, record):
            continue
        meta = mapping(as_object(read_bytes(str(_folder(run, record) / "tool.json")) or b""))
        begin, end = meta.get("start_ns"), meta.get("end_ns")
        if begin and end and begin < killed < end:
            yield f"{record.get('id')} counts, although {victim} was killed in it"


def _uses(victim: str, record: Mapping[str, Any]) -> bool:
    return any(str(record.get(key, "")).startswith(USES.get(victim, ())) for key in ("scenario", "case"))


def _folder(run: Path, record: Mapping[str, Any]) -> Path:
    for line in (run / "plan.jsonl").read_bytes().splitlines():
        planned = mapping(as_object(line))
        if planned.get("id") == record.get("id"):
            return run / str(planned["dir"])
    return run / "none"


def _unsaid(run: Path, facts: Mapping[str, str], first: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    """Faults: measurements lost in the call that was hit, if its log or records do not name what was killed."""
    lost = [record for record in first if record and record.get("outcome") != MEASURED]
    log = (run / "first.log").read_text(errors="replace")
    if lost and facts.get("victim", "") not in log:
        yield f"{len(lost)} measurements were lost, and {facts.get('victim')} is not named"
    for record in lost:
        told = json.dumps(record.get("causes"))
        if record.get("service") != facts.get("victim") and facts.get("victim", "") not in told:
            yield f"{record.get('id')} was lost for another cause: {told[:200]}"


def table(judged: Iterable[Mapping[str, Any]]) -> str:
    """A Markdown table of `survived/tried`, and a line with totals; without moments that had nothing to kill."""
    tried, survived = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    missed = 0
    for one in judged:
        if not one["tried"]:
            missed += 1
            continue
        for key in ((one["subject"], one["phase"]), (one["subject"], "all"), ("all", one["phase"]), ("all", "all")):
            tried[key] += 1
            survived[key] += not one["faults"]
    phases = (*(phase for phase in PHASES if tried["all", phase]), "all")
    subjects = (*(name for name in SUBJECTS if tried[name, "all"]), "all")
    lines = [f"| killed | {' | '.join(phases)} |", f"| --- |{' ---: |' * len(phases)}"]
    for name in subjects:
        cells = (f"{survived[name, phase]}/{tried[name, phase]}" if tried[name, phase] else "–" for phase in phases)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    words = f"{tried['all', 'all']} moments tried, {survived['all', 'all']} survived"
    return "\n".join([*lines, "", words + (f"; {missed} came after what they were to hit had ended" if missed else "")])
