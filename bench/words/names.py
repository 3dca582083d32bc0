"""Scenarios, services and settings named for a reader who does not know the matrix, and what services differ in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.services import Coordinates, Places, differing, varied_knobs
from bench.analysis.tables.ranking import Ranking
from bench.core.exchange import Wait, WaitsFor
from bench.core.formats import joined, listed, plural
from bench.matrix.flags import FLAGS, NONE
from bench.matrix.knobs import REF
from bench.matrix.model import BARE
from bench.matrix.packages import package_words
from bench.plan.running import UNKNOWN
from bench.tools.levels import Level
from bench.words.texts import TEXTS


def framework_words(name: str) -> str:
    """A framework as spelled in prose; an app without one is a bare app."""
    return f"a bare {name.upper()} app" if name in BARE else TEXTS["frameworks"].get(name, name)


def wait_words(wait: Wait | None) -> str:
    """What every response waits for: `20 ms`, `an upstream`, `the database`; empty if nothing."""
    if wait is None:
        return ""
    if wait.on is WaitsFor.TIMER:
        return f"{wait.ms} ms"
    if wait.on is WaitsFor.UPSTREAM:
        return f"an upstream that takes {wait.ms} ms" if wait.ms else "an upstream"
    return "the database"


def scenario_words(scenario: str, wait: Wait | None) -> str:
    """`delay-20 (every response waits for 20 ms)`; the name alone if it waits for nothing."""
    waits = wait_words(wait)
    return f"{scenario} (every response waits for {waits})" if waits else scenario


NEW_CONNECTIONS = "a new connection for each request"


def level_words(level: Level) -> str:
    """`c16` as "16 connections"."""
    words = [
        f"{100 * level.share:.0f} % of the slowest service's speed" if level.share else "",
        plural(level.connections, "connection", ",") if level.connections else "",
        plural(level.count, "request", ",") if level.count else "",
        f"{level.rate:,}/s target rate" if level.rate else "",
        f"turns of {1000 * level.turn_s:,.0f} ms" if level.turn_s else "",
        NEW_CONNECTIONS if level.closes else "",
    ]
    return ", ".join(filter(None, words)) or level.text


def loaded_words(ranking: Ranking, usual: str) -> str:
    """The load on a table's services: a common rate; `usual` for any other load."""
    level = ranking.level
    if ranking.rate is not None and (level.share or level.knee_share):
        return f"{ranking.rate:,.0f} requests/s" + f", {NEW_CONNECTIONS}" * level.closes
    return usual


_COUNTED, _WORDS, _ASKED = (TEXTS[name] for name in ("counted", "settings", "questions"))


def setting_words(settings: Mapping[str, str]) -> str:
    """`4 workers and 2 threads`; settings without a wording of their own are `NAME=VALUE`."""
    return joined([_one(name, value) for name, value in settings.items()])


def _one(name: str, value: str) -> str:
    if name in _COUNTED:
        return f"{value} {_COUNTED[name]}{'' if value == '1' else 's'}"
    if name in _WORDS:
        plural = "s" if name == "CPU_QUOTA" and value != "1" else ""
        return f"{_WORDS[name].format(value)}{plural}"
    if name == FLAGS:
        return "no extra flags" if value == NONE else value
    return f"{name}={value}"


def knob_words(name: str) -> str:
    """A countable knob in the plural: `threads`; others by their own name."""
    return f"{_COUNTED[name]}s" if name in _COUNTED else name


def setting_question(stack: str, given: Sequence[Mapping[str, str]]) -> str:
    """`How many threads for gunicorn-gthread-flask with 2 workers`, for services that differ only in settings."""
    varied = varied_knobs(given)
    same = {name: value for name, value in given[0].items() if name not in varied}
    if len(varied) != 1:
        asked = f"Which {joined(varied)}"
    elif varied[0] in _COUNTED:
        asked = f"How many {_COUNTED[varied[0]]}s"
    else:
        asked = _ASKED.get(varied[0], f"Which {varied[0]}")
    return f"{asked} for {stack}" + (f" with {setting_words(same)}" if same else "")


def labels_of(services: Sequence[str], places: Places) -> dict[str, str]:
    """Short names of a table's services: what they differ in; full names if those are not unique."""
    differs = differing(services, places)
    found = {name: (label_of(places[name], differs) if name in places else "") or name for name in services}
    return found if len(set(found.values())) == len(services) else {name: name for name in services}


def label_of(place: Coordinates, differs: set[str]) -> str:
    """A service's name made of the coordinates in `differs`."""
    stack = {"server", "framework"} & differs
    parts = [coordinate_words(place, stack.pop()) if len(stack) == 1 else place.stack] if stack else []
    told = [name for name in ("python", "base", "package") if name in differs and place.python != UNKNOWN]
    parts += [coordinate_words(place, name) for name in told]
    if "settings" not in differs or not place.settings:
        return ", ".join(parts)
    own = dict(place.settings)
    parts = [*filter(None, [own.pop(REF, "")]), *parts]
    words = setting_words(own)
    return " with ".join(filter(None, (", ".join(parts), words)))


def coordinate_words(place: Coordinates, name: str) -> str:
    """One coordinate: `Python 3.13`, `aiohttp 3.14.5`."""
    if name == "python":
        return f"Python {place.python}"
    if name == "package":
        return package_words(place.package) if place.package else "the locked version"
    return str(getattr(place, name))


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the coordinate that its services differ in."""

    words: str
    by: str

    def label(self, name: str, place: Coordinates) -> str:
        """A service's name in answers to the question."""
        if self.by == "python":
            return f"Python {place.python}"
        if self.by == "settings" and place.settings:
            return f"{place.server} with {setting_words(place.settings)}"
        return str(getattr(place, self.by, None) or name)


def question(a: str, b: str, places: Places) -> Question:
    """The question that two services raise by what they differ in."""
    first, second = places.get(a), places.get(b)
    if first is None or second is None:
        return Question("Which service?", "name")
    differs = {name for name in Coordinates.__slots__ if getattr(first, name) != getattr(second, name)}
    context = "" if differs & {"python", "base"} else f" (Python {first.python}, {first.base})"
    version = f" with {first.package}" if first.package else ""
    given = first.settings
    if differs == {"settings"}:
        asked = setting_question(first.stack, [given, second.settings])
        return Question(f"{asked}?{context}", "settings")
    words = {
        ("server",): f"{_which(first.server, second.server)} for {framework_words(first.framework)}?{context}",
        ("framework",): f"Which framework on {first.server}?{context}",
        ("framework", "server"): f"Which server and framework?{context}",
        ("python",): f"Which Python for {first.stack}{version}? ({first.base})",
        ("base",): f"Which base image for {first.stack}{version}? (Python {first.python})",
        ("package",): f"Which package version for {first.stack}?{context}",
    }
    key = tuple(sorted(differs))
    if key not in words:
        return Question("Which service?", "name")
    with_settings = f" with {setting_words(given)}?" if given else "?"
    return Question(words[key].replace("?", with_settings, 1), "stack" if len(key) > 1 else key[0])


def table_question(services: Sequence[str], places: Places) -> str:
    """The question that a table's ranking answers."""
    topics = {question(a, b, places) for a, b in combinations(services, 2)}
    if len(topics) == 1 and (topic := topics.pop()).by != "name":
        return topic.words
    known = [places[name] for name in services if name in places and places[name].python != UNKNOWN]
    differs = differing(services, places)
    if not known or not differs:
        return "Which service?"
    if differs == {"settings"}:
        asked = setting_question(known[0].stack, [place.settings for place in known])
        return f"{asked}? (Python {known[0].python}, {known[0].base})"
    words = {"server": "server", "framework": "framework", "python": "Python", "base": "base image"}
    words["settings"] = "setting"
    listed_words = [words.get(name, "package version") for name in Coordinates.__slots__ if name in differs]
    same = [*([f"Python {known[0].python}"] * ("python" not in differs)), *([known[0].base] * ("base" not in differs))]
    return f"Which {listed(listed_words)}?" + (f" ({', '.join(same)})" if same else "")


def _which(a: str, b: str) -> str:
    """Servers of one family differ in their worker model or another option."""
    family = a.partition("-")[0]
    if family != b.partition("-")[0]:
        return "Which server"
    return f"Which {family} worker model" if family == "gunicorn" else f"Which variant of {family}"
