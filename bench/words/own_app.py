"""The part of a report on a user's own app: which server to run it on, with which command, at what cost."""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.tables.ranking import Metric, RankedRow, Ranking
from bench.core.formats import listed, megabytes, number
from bench.matrix.flags import FLAGS, NONE
from bench.matrix.packages import normalised
from bench.matrix.start_command import Waits
from bench.plan.cpus import server_cpus
from bench.run.facts import AppFacts, RunFacts, RunService
from bench.run.reader import ServiceFacts
from bench.stats.table_verdicts import MARGIN
from bench.words.changes import change_of
from bench.words.conclusions import RankingText
from bench.words.deployment import Deployment, label_of
from bench.words.names import setting_words
from bench.words.order import open_words
from bench.words.picture import rate_words
from bench.words.remarks import note_of, waits_words
from bench.words.texts import SENTENCES

USUAL = ("gunicorn-sync", "uvicorn", "aiohttp", "tornado")
"""The servers that deployment guides name first, with their default workers: a choice is compared with one of them."""
OWN_CHOICE = ("--server", "--vary", "--flags", "--seed")
"""Options that the suggested next run, of one server, sets itself."""
ALIKE = 0.1
"""Any of several services will do if the data allow no larger difference."""
MOST_BEHIND = 3
"""The most services behind the best that are named."""
TIMES = (0.25, 0.5, 1, 2, 4)
"""Multiples of this run's threads, or workers, to try next."""

LEAST_MEMORY = 500_000
"""Two services that differ by fewer bytes need the same memory."""
Services = Mapping[str, ServiceFacts]


def own_app_answers(facts: RunFacts, rankings: Iterable[Ranking]) -> list[tuple[str, str]]:
    """(requests, answer) for each ranking; empty for a run of the matrix."""
    app = facts.own_app
    return [(request_words(app, ranking.scenario), _answer(facts, ranking)) for ranking in rankings] if app else []


def request_words(app: AppFacts, scenario: str) -> str:
    """What a scenario requests: `GET /products/1`; for a mix, each request with its share."""
    own = [one for one in app.targets if one.scenario == scenario] or app.targets
    total = sum(one.weight for one in own)
    return ", ".join(one.request + f" ({100 * one.weight / total:.0f} %)" * (len(own) > 1) for one in own)


def seen_from_project(app: AppFacts, path: str) -> str:
    """A path of the host relative to this project's folder; its last part if the run did not save that folder."""
    if not path.startswith("/"):
        return path
    return posixpath.relpath(path, app.project) if app.project else posixpath.basename(path)


def _answer(facts: RunFacts, ranking: Ranking) -> str:
    measured = [row for row in ranking.rows if row.windows]
    if not measured:
        return f"no server has a figure: {note_of(ranking.rows[0]) if ranking.rows else 'nothing was measured'}."
    if len(measured) == 1:
        [only] = measured
        lost = [f"{server_words(facts, row.service)} ({note_of(row)})" for row in ranking.rows if not row.windows]
        others = f" Without figures: {listed(lost)}." if lost else ""
        return f"only {choice_words(facts, only.service)} has figures that count: {figures_words(only)}.{others}"
    if ranking.look is None:
        return "no recommendation yet: too few rounds."
    ranked = [row for row in ranking.rows if row.rank is not None]
    if len(ranked) == 1:
        apart = listed([server_words(facts, row.service) for row in measured])
        return f"no recommendation: no two of {apart} were measured in the same window."
    best = _best(ranking, ranked)
    figures = f"{choice_words(facts, best.service)}: {figures_words(best)}."
    front = ranking.front([row.service for row in ranked])
    behind = [row.service for row in ranked if row.service not in front]
    more = _behind_words(facts, ranking, best.service, behind)
    if len(front) == 1:
        return f"run it on {figures}{more}"
    names = {name: server_words(facts, name) for name in front}
    lead, most = open_words(ranking, front, names), ranking.farthest([*combinations(front, 2)])
    if most is not None and most <= ALIKE:
        lead = f"{'either' if len(front) == 2 else 'any'} will do: {lead}"
    return f"{lead}. The {'cheapest' if best.cpu_us else 'first'} is {figures}{more}"


def _best(ranking: Ranking, rows: Sequence[RankedRow]) -> RankedRow:
    """Of these rows, the one to recommend.

    Of several that may be the fastest, the one with the least CPU per request; where others need as much within the
    margin of "equal", the one of these with the least memory. The one with the most requests/s if CPU is unknown.
    """
    front = ranking.front([row.service for row in rows])
    leaders = [row for row in rows if row.service in front]
    costs = [row.cpu_us.mean for row in leaders if row.cpu_us]
    if len(costs) < len(leaders):
        return max(leaders, key=lambda row: row.goodput.mean if row.goodput else 0.0)
    cheapest = [row for row, cost in zip(leaders, costs, strict=True) if math.log(cost / min(costs)) <= MARGIN]
    if any(row.memory_loaded_bytes is None for row in cheapest):
        return leaders[costs.index(min(costs))]
    return min(cheapest, key=lambda row: row.memory_loaded_bytes or 0)


def _behind_words(facts: RunFacts, ranking: Ranking, best: str, behind: Sequence[str]) -> str:
    """` daphne and hypercorn need 42 to 64 % more CPU per request.`: those shown to be behind; empty without any."""
    gaps = [(name, gap) for name in behind if (gap := ranking.ahead(name, best)) and gap.called]
    if not gaps:
        return ""
    changes = sorted((change_of(ranking.metric, gap) for _, gap in gaps), key=lambda one: abs(one.ratio - 1))
    names = [server_words(facts, name) for name, _ in gaps]
    who = f"The other {len(names)}" if len(names) == len(behind) > MOST_BEHIND else listed(names)
    verb = "served" if ranking.metric is not Metric.CPU else "needs" if len(names) == 1 else "need"
    least, most = changes[0].much(), changes[-1].much()
    amount, _, unit = least.partition(" ")
    much = most if least == most else f"{amount if most.endswith(f' {unit}') else least} to {most}"
    return f" {who} {verb} {much} {changes[-1].of}."


def choice_words(facts: RunFacts, name: str) -> str:
    """`granian-wsgi (processes, HTTP in Rust, threads) with 1 worker on Python 3.13`."""
    service = facts.service(name)
    settings, model = dict(service.settings), service.model or "unknown"
    workers = settings.pop("WORKERS", facts.workers)
    if service.url:
        return f"{name} ({model}; its settings are not known here)"
    server = f"{service.server or name} ({model})"
    more = f" and {setting_words(settings)}" if settings else ""
    return f"{server} with {workers} worker{'s' * (workers != '1')}{more} on Python {service.python or '?'}"


def server_words(facts: RunFacts, name: str) -> str:
    """The server with its settings, and with its Python if the run has several."""
    service = facts.service(name)
    pythons = {one.python for one in facts.services.values() if not one.url}
    words = (service.server or name) + (f" with {setting_words(service.settings)}" if service.settings else "")
    return f"{words} on Python {service.python}" if len(pythons) > 1 and not service.url else words


def figures_words(row: RankedRow) -> str:
    """Requests/s and CPU time of a row."""
    parts = [f"{rate_words(row)[0]} requests/s"] if row.goodput else []
    if row.cpu_us:
        per_core = number(1e6 / row.cpu_us.mean)
        parts.append(f"{number(row.cpu_us.mean)} µs of CPU per request, or {per_core} requests/s per core")
    if row.memory_loaded_bytes is not None:
        parts.append(f"{megabytes(row.memory_loaded_bytes)} of memory under load")
    return "; ".join(parts) or "no figure"


# What to run, and what it costs


@dataclass(frozen=True, slots=True)
class Choice:
    """A server to run the app on.

    `commands` are for pasting; if there are none, `more` says why. `other_numbers` is the command that looks for the
    best number of `knob`s.
    """

    words: str
    commands: tuple[str, ...]
    more: tuple[str, ...]
    knob: str
    other_numbers: str
    deployment: Deployment | None = None
    """How to deploy it; None without a command."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The end of an answer: the best server, the best widely used one if that is another, and what was not tested."""

    requests: str
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]


def own_app_choices(
    facts: RunFacts, rankings: Iterable[RankingText], services: Services, *, events: bool = False
) -> list[Choices]:
    """For each ranking that names a best server; empty for a run of the matrix, or without notes on its servers.

    `events`: whether the run tested reloads, slow clients and overload.
    """
    if not facts.own_app or not any(service.caveats for service in facts.services.values()):
        return []
    untested = SENTENCES["untested_by_events" if events else "untested"]
    choices = (_choices(facts, text, services, untested) for text in rankings)
    return [one for one in choices if one]


def _choices(facts: RunFacts, text: RankingText, services: Services, untested: str) -> Choices | None:
    ranking = text.ranking
    ranked = [row for row in ranking.rows if row.rank is not None]
    ours = [row for row in ranked if not facts.service(row.service).url]
    if ranking.look is None or len(ranked) < 2 or not ours:
        return None
    best = _best(ranking, ours)
    documented = [row for row in ours if facts.service(row.service).caveats.get("documented")]
    used = _best(ranking, documented) if documented else None
    base = _compared_with(facts, ranked, best)
    front = ranking.front([row.service for row in ranked])
    several = best.service in front and len(front) > 1
    first = f"One of the best (no winner among {len(front)})" if several else "The best"
    leads = {best.service: (first, best)}
    if used is best:
        leads[best.service] = (f"{first}, and widely used", best)
    elif used is not None:
        among = ", also one of the best" * (several and used.service in front)
        leads[used.service] = (f"The best of those widely used{among}", used)
    choices = (_choice(facts, text, services, row, base, lead=lead) for lead, row in leads.values())
    widely_used = "None of these is widely used. " * (used is None) + SENTENCES["widely_used"]
    requests = request_words(facts.own_app or AppFacts(), ranking.scenario)
    return Choices(requests, tuple(choices), (widely_used, untested))


def _compared_with(facts: RunFacts, ranked: Sequence[RankedRow], best: RankedRow) -> RankedRow | None:
    """What the user runs now (--target), else the usual server, else the slowest."""
    others = [row for row in ranked if row is not best]
    now = [row for row in others if facts.service(row.service).url]
    usual = [row for row in others if facts.service(row.service).server in USUAL]
    return next(iter([*now, *usual, *others[::-1]]), None)


def _choice(
    facts: RunFacts, text: RankingText, services: Services, row: RankedRow, base: RankedRow | None, *, lead: str
) -> Choice:
    app, name, service = facts.own_app or AppFacts(), row.service, facts.service(row.service)
    known, waits = services.get(name), text.waits.get(name)
    commands, more = [], [f"{_costs(row)}."]
    if base is not None and base is not row:
        more.append(f"Against {server_words(facts, base.service)} ({_costs(base)}): {_saved(text.ranking, row, base)}.")
    command = elsewhere(app, service, known) if known else None
    if known is not None and command:
        packages = " ".join(map(shlex.quote, _packages(service, known)))
        commands = [*([f"pip install {packages}"] if packages else []), command]
        more += _beyond(service, waits)
    else:
        saved = known is not None and known.command is not None
        more.append(
            f"No one-line command: see {service.notes.get('source', 'its manual')}."
            if saved
            else "No command: this run did not save it."
        )
    words = f"{lead}: {choice_words(facts, name)}"
    if waits:
        words += f"; requests at once: {waits_words(waits)}"
    deployment = _deployment(facts, row, commands[-1]) if commands else None
    return Choice(f"{words}.", tuple(commands), tuple(more), *_other_numbers(facts, app, service, waits), deployment)


def _deployment(facts: RunFacts, row: RankedRow, command: str) -> Deployment:
    app, service = facts.own_app or AppFacts(), facts.service(row.service)
    paths = [target.request.partition(" ")[2] for target in app.targets if target.request.startswith("GET /")]
    options = dict(zip(app.options, app.options[1:], strict=False))
    return Deployment(
        name=label_of(posixpath.basename(app.folder) or app.name),
        command=command,
        workers=service.settings.get("WORKERS") or facts.workers,
        cpus=server_cpus(facts.knobs),
        memory_bytes=row.memory_loaded_bytes,
        path=next(iter(paths), "/"),
        env_file=posixpath.basename(options.get("--env-file", "")),
        grace=str(facts.defaults.get(row.service, {}).get("graceful", {}).get("value") or ""),
    )


def elsewhere(app: AppFacts, service: RunService, known: ServiceFacts) -> str | None:
    """The command that starts the app in the same way outside the image; None if it was not saved or no line can."""
    return known.command.elsewhere(app.app, service.notes.get("command", "")) if known.command else None


def _costs(row: RankedRow) -> str:
    """`1,190 requests/s, 0.310 of a core per 1,000 requests/s, 85.2 MB under load`."""
    parts = [f"{rate_words(row)[0]} requests/s"] if row.goodput else []
    if row.cpu_us:
        # 1,000 µs per request at 1,000 requests/s keep one core busy.
        parts.append(f"{number(row.cpu_us.mean / 1000)} of a core per 1,000 requests/s")
    if row.memory_loaded_bytes is not None:
        parts.append(f"{megabytes(row.memory_loaded_bytes)} under load")
    return ", ".join(parts) or "no figures"


def _saved(ranking: Ranking, row: RankedRow, base: RankedRow) -> str:
    """What one service saves over the other: the metric by its verdict, CPU time by intervals, memory as measured."""
    gap = ranking.ahead(row.service, base.service)
    change = change_of(ranking.metric, gap) if gap and gap.called else None
    parts = [f"{change.much()} {change.of} ({change.interval()})" if change else "no winner"]
    if row.cpu_us and base.cpu_us and not (change and "CPU" in change.of):
        apart = row.cpu_us.high < base.cpu_us.low or row.cpu_us.low > base.cpu_us.high
        ratio = abs(row.cpu_us.mean / base.cpu_us.mean - 1)
        less = "less" if row.cpu_us.mean < base.cpu_us.mean else "more"
        parts.append(
            f"{100 * ratio:.0f} % {less} CPU per request" if apart else "no difference in CPU per request shown"
        )
    if row.memory_loaded_bytes is not None and base.memory_loaded_bytes is not None:
        more = row.memory_loaded_bytes - base.memory_loaded_bytes
        much = f"{megabytes(abs(more))} {'more' if more > 0 else 'less'}"
        parts.append(f"{much if abs(more) >= LEAST_MEMORY else 'as much'} memory")
    return ", ".join(parts)


def _packages(service: RunService, known: ServiceFacts) -> Iterator[str]:
    """The packages that its server needs, in the measured versions: `gunicorn[gevent]==27.0.1`."""
    for wanted in service.asks_for:
        found = re.match(r"[\w.-]+", wanted)
        version = known.packages.get(normalised(found[0])) if found else None
        yield f"{wanted}=={version}" if version else wanted


def _beyond(service: RunService, waits: Waits | None) -> Iterator[str]:
    """What the measured service has but the command lacks."""
    command, lacks = service.notes.get("command", ""), []
    if command and waits and waits.workers > 1 and "run({workers})" not in command:
        lacks.append(f"{waits.workers} processes on one socket")
    lacks += [text for name in ("adds", "lacks") if (text := service.notes.get(name))]
    if lacks:
        yield f"Not in this command, but measured: {'; '.join(lacks)}."


def _kept(command: Sequence[str]) -> Iterator[str]:
    """The words of a selection, without the options in OWN_CHOICE and their values."""
    kept = True
    for word in command:
        if word.startswith("--"):
            kept = word.partition("=")[0] not in OWN_CHOICE
        if kept:
            yield word


def _other_numbers(facts: RunFacts, app: AppFacts, service: RunService, waits: Waits | None) -> tuple[str, str]:
    """(`threads` or `workers`, the command that looks for the best number of them)."""
    threads = waits is not None and waits.threads
    knob, now = ("THREADS", waits.each or 1) if waits and threads else ("WORKERS", waits.workers if waits else 1)
    values = ",".join(dict.fromkeys(str(value) for times in TIMES if (value := int(now * times))))
    workers = [f"WORKERS={waits.workers}"] if waits and threads and waits.workers > 1 else []
    pairs = zip(("", *app.options), app.options, strict=False)
    options = [word if option == "--before" else seen_from_project(app, word) for option, word in pairs]
    words = [*workers, "./scripts/matrix.sh", *options, *_kept(facts.command or ())]
    server, flags = service.server, service.settings.get(FLAGS, NONE)
    words += ["--server", server, "--vary", f"{knob}={values}"]
    words += ["--flags", f"{server}: {flags}"] if flags != NONE else []
    return "threads" if threads else "workers", shlex.join(words)
