"""Advice in words: before a run, what may leave it without an answer; after it, what would settle open comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean

from bench.analysis.findings import Findings, Noise
from bench.analysis.runs.host_state import HostState
from bench.analysis.services import pairs_of
from bench.analysis.tables.ranking import Contrast, Ranking
from bench.core.formats import plural
from bench.plan.measurement import Measurement, Pair
from bench.run.facts import RunFacts
from bench.run.provenance import COMPOSED
from bench.stats.table_verdicts import NO_WINNER
from bench.tools.levels import LoadKey
from bench.words.order import separating_connections
from bench.words.texts import TEXTS

BEFORE, AFTER = TEXTS["before"], TEXTS["after"]
COMPOSE_UP = " docker-compose up bench"
MOST_BUSY = 0.1
"""A line warns if other programs use more than this share of all CPUs."""
MOST_STEAL = 0.01
LARGEST_IMAGE_MB, LARGEST_OF = 296, 177
"""The largest of so many images, with its base: results/published/all-py313-json/report.md, "Costs of each service"."""
SLOW_GOVERNORS = frozenset({"powersave", "conservative"})


@dataclass(frozen=True, slots=True)
class WantedRun:
    """The run that was asked for; times in seconds.

    `tables`: number of tables measured in turns. `prepared_s`: time for builds and verification. `first_look_s`:
    measuring time until the first verdicts, which need `first_look` rounds. `rounds`: rounds planned. `composed`: begun
    by docker-compose up bench, which takes no options. `images`: how many have to be built.
    """

    mode: str
    services: int
    tables: int
    prepared_s: float
    first_look_s: float
    max_time_s: float | None = None
    rounds: int | None = None
    first_look: int = 0
    composed: bool = False
    images: int = 0


def _option(name: str, value: object, *, composed: bool) -> str:
    """`docker-compose up bench` takes settings (.env, or before the command) instead of options."""
    if composed:
        return f"ROUNDS={value}" if name == "rounds" else f"SELECTION='--{name} {value}'"
    return f"--{name} {value}"


def preparation(wanted: WantedRun) -> tuple[str, ...]:
    """A line with the time and the disk that builds take; none if there are none."""
    if not wanted.images:
        return ()
    most = wanted.images * LARGEST_IMAGE_MB
    size = f"{most} MB" if most < 1000 else f"{most / 1000:.1f} GB"
    known = f"the largest of {LARGEST_OF} had {LARGEST_IMAGE_MB} MB"
    time, images = _minutes(wanted.prepared_s), plural(wanted.images, "image")
    return (BEFORE["builds"].format(time=time, images=images, size=size, known=known),)


def expectations(host: HostState, wanted: WantedRun) -> tuple[str, ...]:
    """One line per obstacle; those that prevent any answer come first."""
    return (*_of_selection(wanted), *_of_host(host))


def _of_selection(wanted: WantedRun) -> Iterator[str]:
    option = partial(_option, composed=wanted.composed)
    if wanted.mode == "events":
        return  # a single service has counts worth reading, and pairs are compared if there are rounds enough
    if wanted.services == 1:
        yield BEFORE["one_service"]
    elif wanted.mode == "solo":
        yield BEFORE["solo"]
    elif not wanted.tables:
        yield BEFORE["no_table"]
    elif wanted.rounds is not None and wanted.rounds < wanted.first_look:
        rounds, enough = (option("rounds", count) for count in (wanted.rounds, wanted.first_look))
        yield BEFORE["few_rounds"].format(rounds=rounds, first=wanted.first_look, enough=enough)
    elif wanted.max_time_s is not None and wanted.max_time_s < wanted.prepared_s + wanted.first_look_s:
        needed = math.ceil((wanted.prepared_s + wanted.first_look_s) / 60)
        least = max(0.0, wanted.max_time_s - wanted.prepared_s) * wanted.tables / wanted.first_look_s
        limit, enough = (option("max-time", t) for t in (f"{wanted.max_time_s / 60:.3g}", needed + 1))
        expected = f"about {needed} min ({wanted.prepared_s / 60:.1f} of them for builds and checks)"
        words = {"limit": limit, "expected": expected, "enough": enough, "tables": wanted.tables}
        yield BEFORE["too_short" if least < 1 else "short"].format(enough_for=math.floor(least), **words)


def _of_host(host: HostState) -> Iterator[str]:
    if host.cpus == 1:
        yield BEFORE["one_cpu"]
    if host.busy is not None and host.busy > MOST_BUSY:
        yield BEFORE["busy"].format(100 * host.busy)
    if host.steal is not None and host.steal > MOST_STEAL:
        yield BEFORE["steal"].format(100 * host.steal)
    if slow := sorted(SLOW_GOVERNORS & set(host.governors)):
        yield BEFORE["governor"].format(slow[0])
    if host.on_battery:
        yield BEFORE["battery"]


MOST_ROUNDS = 99
"""Largest value that --rounds accepts."""
NOISY = 0.1
"""A pair is undecided because of noise if its detectable difference exceeds this."""
OFTEN = 0.1
"""A line warns if noise affects more than this share of the windows."""
PATIENCE_S = 30 * 60.0
"""More rounds are not suggested if they take longer than this, and longer than twice the run."""


def advice(
    facts: RunFacts,
    rankings: Sequence[Ranking],
    findings: Findings,
    planned: Iterable[Measurement] = (),
) -> tuple[str, ...]:
    """The lines, most useful first, then the expectations from before the run; the plan has a round's duration."""
    tables = {table.key: table.rounds for table in facts.tables}
    go_on = f"continue with scripts/matrix.sh --resume {facts.run or 'RUN'}"
    if composed := facts.containers == COMPOSED:
        go_on = "docker-compose up bench cannot continue a run (scripts/matrix.sh can), so measure it again"
    lines = [*_of_rankings(rankings, go_on, tables, _round_s(planned), pairs_of(facts), composed=composed)]
    if not lines and rankings:
        return ()
    noise = _of_noise(findings.noise) if rankings else ()
    return tuple(dict.fromkeys([*noise, *lines, *facts.expected]))


def _round_s(planned: Iterable[Measurement]) -> float:
    """Expected duration of one round of all tables; 0 if unknown."""
    rounds: dict[int, dict[int | None, float]] = {}
    for one in planned:
        if one.mode == "turns":
            rounds.setdefault(one.round, {})[one.block] = one.seconds
    return fmean(sum(units.values()) for units in rounds.values()) if rounds else 0.0


def _of_rankings(
    rankings: Iterable[Ranking],
    go_on: str,
    planned: Mapping[LoadKey, int],
    round_s: float,
    pairs: Sequence[Pair],
    *,
    composed: bool,
) -> Iterator[str]:
    """`planned`: rounds planned for each table. `go_on`: how to continue an interrupted run. `pairs`: of two refs."""
    early: list[Ranking] = []
    cut: list[Ranking] = []
    limited: list[Ranking] = []
    done: list[Ranking] = []
    for ranking in rankings:
        if ranking.look is None:
            first = ranking.looks[0]
            if ranking.rounds < min(first, planned.get(ranking.table, first)):
                early.append(ranking)
        elif _limited_by_load(ranking):
            limited.append(ranking)
        elif _open(ranking):
            (cut if ranking.rounds < ranking.looks[-1] else done).append(ranking)
    if early:
        rounds, first = min(one.rounds for one in early), early[0].looks[0]
        more = f"{go_on}{_about(first - rounds, round_s)}"
        yield AFTER["early"].format(tables=_name(early), rounds=rounds, first=first, more=more)
    if cut:
        rounds, last = min(one.rounds for one in cut), cut[0].looks[-1]
        words = {"tables": _name(cut), "differences": _count(cut), "rounds": plural(rounds, "round"), "last": last}
        yield AFTER["cut"].format(more=f"{go_on}{_about(last - rounds, round_s)}", **words)
    yield from (_level_for(ranking, composed=composed) for ranking in limited)
    if done:
        yield f"{_name(done)}: {_count(done)} no verdict; {_rounds_for(done, round_s, pairs, composed=composed)}."


def _about(rounds: int, round_s: float) -> str:
    return f" (about {_minutes(rounds * round_s)})" if round_s else ""


def _minutes(seconds: float) -> str:
    return plural(math.ceil(seconds / 60), "minute") if seconds < 2 * PATIENCE_S else f"{seconds / 3600:.1f} hours"


def _open(ranking: Ranking) -> list[Contrast]:
    return [one for one in ranking.contrasts if one.verdict == NO_WINNER]


def _limited_by_load(ranking: Ranking) -> bool:
    """Whether some services have no winner because they reach all that connections and wait allow."""
    first = {row.service for row in ranking.rows[: ranking.ceiling.services if ranking.ceiling else 0]}
    return any({one.a, one.b} <= first for one in _open(ranking))


def _level_for(ranking: Ranking, *, composed: bool) -> str:
    """The level that separates such services."""
    assert ranking.ceiling is not None
    level = ranking.level.over(separating_connections(ranking.ceiling))
    load = _option("scenario", f"{ranking.scenario} --level {level}", composed=composed) + COMPOSE_UP * composed
    return AFTER["limited"].format(table=ranking.table, services=ranking.ceiling.services, load=load)


def _name(rankings: Sequence[Ranking]) -> str:
    return str(rankings[0].table) if len(rankings) == 1 else f"{len(rankings)} tables"


def _count(rankings: Sequence[Ranking]) -> str:
    count = sum(len(_open(one)) for one in rankings)
    return f"{count:,} of {sum(len(one.contrasts) for one in rankings):,} differences {'has' if count == 1 else 'have'}"


def _rounds_for(rankings: Sequence[Ranking], round_s: float, pairs: Sequence[Pair], *, composed: bool) -> str:
    """What more rounds would settle and how long they take; why the rest would stay open.

    A rerun is proposed if it settles a difference that was asked about, or half of those without a verdict.
    """
    undecided = [
        (one, math.inf if one.more_rounds is None else (ranking.look or 0) + one.more_rounds, asked)
        for ranking in rankings
        for one, asked in _by_question(ranking, pairs)
    ]
    reachable = sorted(int(total) for _, total, _ in undecided if total <= MOST_ROUNDS)
    patience = max(PATIENCE_S, 2 * round_s * max(one.rounds for one in rankings))
    soon = [total for total in reachable if total * round_s <= patience]
    unreachable = [one for one, total, _ in undecided if total > MOST_ROUNDS]
    single = len(unreachable) == 1
    who = ("the other" if single else "the others") if reachable else "it" if single else "they"
    left = [f"{who} {_why_open(unreachable)}"] if unreachable else []
    late = len(reachable) - len(soon)
    long = f"would take {_minutes(reachable[len(soon)] * round_s)} or more" if late else ""
    if not soon and late:
        return "; ".join([f"settling {'it' if len(undecided) == 1 else f'{late} of them'} {long}", *left])
    if not soon:
        return f"more rounds would hardly help: {', '.join(left)}"
    if late:
        left.insert(0, f"{late} {long}")
    totals_asked = [total for _, total, asked in undecided if asked]
    if 2 * len(soon) < len(undecided) and min(totals_asked, default=math.inf) > soon[-1]:
        best = ", and not which is best" if totals_asked and not pairs else ""
        return "; ".join([f"more rounds would settle only {len(soon)} of them{best}", *left])
    count = "it" if len(undecided) == 1 else f"{'all' if len(soon) == len(undecided) else len(soon)} of them"
    options = _option("rounds", soon[-1], composed=composed)
    if composed:
        options += COMPOSE_UP
    elif round_s:
        # A margin, plus 2 minutes for builds and checks before the first round.
        options += f" --max-time {math.ceil(1.25 * soon[-1] * round_s / 60) + 2}"
    return "; ".join([f"rerun with {options}{_about(soon[-1], round_s)} to settle {count}", *left])


def _by_question(ranking: Ranking, pairs: Sequence[Pair]) -> Iterator[tuple[Contrast, bool]]:
    """The differences without a verdict, and whether the question is about them: two refs, else the best and others."""
    best, versions = ranking.rows[0].service, {frozenset(pair) for pair in pairs}
    for one in _open(ranking):
        both = frozenset((one.a, one.b))
        yield one, both in versions if versions else best in both


def _why_open(contrasts: Sequence[Contrast]) -> str:
    """Why even MOST_ROUNDS rounds would not decide these."""
    are, need = ("is", "needs") if len(contrasts) == 1 else ("are", "need")
    noisy = any((one.smallest_visible or 0) > NOISY for one in contrasts)
    return f"{need} a quieter machine" if noisy else f"{are} too close to call"


def _of_noise(noise: Noise) -> Iterator[str]:
    for name in ("foreign", "steal"):
        if getattr(noise, name) > OFTEN * noise.windows:
            yield AFTER[name].format(**asdict(noise))
