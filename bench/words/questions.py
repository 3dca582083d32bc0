"""What services differ in, as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.coordinates import Coordinates, Places, differing
from bench.core.formats import listed
from bench.plan.measurement import settings_of
from bench.plan.running import UNKNOWN
from bench.words.scenarios import framework_words
from bench.words.settings import setting_question, setting_words


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the coordinate in which its services differ."""

    words: str
    by: str

    def label(self, name: str, place: Coordinates) -> str:
        """A service's name within the question."""
        if self.by == "server":
            return place.server
        if self.by == "python":
            return f"Python {place.python}"
        if self.by == "settings" and place.settings:
            return f"{place.server} with {setting_words(settings_of(place.settings))}"
        return str(getattr(place, self.by, None) or name)


def question(a: str, b: str, places: Places) -> Question:
    """What two services differ in."""
    one, other = places.get(a), places.get(b)
    if one is None or other is None:
        return Question("Which service?", "name")
    differs = {name for name in Coordinates.__slots__ if getattr(one, name) != getattr(other, name)}
    context = "" if differs & {"python", "base"} else f" (Python {one.python}, {one.base})"
    version = f" with {one.package}" if one.package else ""
    given = settings_of(one.settings)
    if differs == {"settings"}:
        asked = setting_question(one.stack, [given, settings_of(other.settings)])
        return Question(f"{asked}?{context}", "settings")
    words = {
        ("server",): f"{_which(one.server, other.server)} for {framework_words(one.framework)}?{context}",
        ("framework",): f"Which framework on {one.server}?{context}",
        ("framework", "server"): f"Which server and framework?{context}",
        ("python",): f"Which Python for {one.stack}{version}? ({one.base})",
        ("base",): f"Which base image for {one.stack}{version}? (Python {one.python})",
        ("package",): f"Which package version for {one.stack}?{context}",
    }
    key = tuple(sorted(differs))
    if key not in words:
        return Question("Which service?", "name")
    with_settings = f" with {setting_words(given)}?" if given else "?"
    return Question(words[key].replace("?", with_settings, 1), "stack" if len(key) > 1 else key[0])


def table_question(services: Sequence[str], places: Places) -> str:
    """What the ranking answers."""
    topics = {question(a, b, places) for a, b in combinations(services, 2)}
    if len(topics) == 1 and (topic := topics.pop()).by != "name":
        return topic.words
    known = [places[name] for name in services if name in places and places[name].python != UNKNOWN]
    differs = differing(services, places)
    if not known or not differs:
        return "Which service?"
    if differs == {"settings"}:
        asked = setting_question(known[0].stack, [settings_of(place.settings) for place in known])
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
