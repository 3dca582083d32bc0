"""The expected responses of an app: recorded from the app on one server, and compared on every other server.

From several responses to the same request, only what they have in common is expected: status and content type; for JSON
the shape (names and types), for anything else the length. No I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bench.contract.client import Answer
from bench.core.errors import UserError
from bench.core.formats import printable
from bench.core.tables import table_beside
from bench.core.typed import read_as
from bench.own_app.shapes import Shape, first_difference, merged, shape_of, shape_words
from bench.own_app.targets import is_redirect

TRIES = 3
"""How many responses to each request are recorded."""
SHOWN = 300
"""The most characters of a body that are shown."""


@dataclass(frozen=True, slots=True)
class StatusHints:
    """What answers.toml says."""

    choose: str
    failed: str
    to_https: str
    status: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """The expected response to a target; None: anything is accepted."""

    target: str
    status: int
    media_type: str
    length: int | None = None
    shape: Shape | None = None
    location: str | None = None
    """Where a redirect leads."""

    def words(self) -> str:
        """A description, to show next to a different response."""
        parts = [f"{self.status} {self.media_type or 'without a content type'}"]
        if self.location:
            parts.append(f"to {_shown(self.location)}")
        if self.length is not None:
            parts.append(f"{self.length} bytes")
        if self.shape is not None:
            parts.append(f"JSON {_shown(shape_words(self.shape))}")
        return ", ".join(parts)


class Unusable(Exception):
    """The app's own responses cannot serve as a reference; the text says why, and `hint` what to do about it."""

    def __init__(self, words: str, hint: str = "") -> None:
        super().__init__(words)
        self.hint = hint


def right_of(target: str, answers: Sequence[Answer], status: object = None) -> Right:
    """What these responses to one request have in common; `Unusable` if they fail or differ in status or type.

    A redirect is right only if it has the `status` that --expect says. Its page has an address of its own, hence only
    the redirect's is compared.
    """
    statuses = sorted({answer.status for answer in answers})
    if len(statuses) > 1:
        both = " and ".join(map(str, statuses))
        raise Unusable(f"{target} gives {both} in turn: the status of a request must not change")
    redirects = is_redirect(statuses[0])
    if statuses[0] // 100 != 2 and not (redirects and statuses[0] == status):
        raise _refused(target, answers[0])
    types = {media_type(answer) for answer in answers}
    if len(types) > 1:
        both = " and ".join(sorted(types))
        raise Unusable(f"{target} gives {both} in turn: the content type of a request must not change")
    shapes = [shape for answer in answers if (shape := shape_of_body(answer)) is not None]
    lengths = {len(answer.body) for answer in answers}
    locations = {location_of(answer) for answer in answers}
    shape = merged(shapes) if len(shapes) == len(answers) else None
    return Right(
        target=target,
        status=statuses[0],
        media_type=types.pop(),
        length=lengths.pop() if shape is None and len(lengths) == 1 and not redirects else None,
        shape=shape,
        location=locations.pop() if redirects and len(locations) == 1 else None,
    )


def _refused(target: str, answer: Answer) -> Unusable:
    """A response that cannot be a reference, with its own words, and with what to do if its status tells."""
    hints, status = table_beside(__file__, StatusHints), answer.status
    location = location_of(answer) if is_redirect(status) else ""
    text = answer.body.decode(errors="replace")
    title = re.search(r"<title[^>]*>(.{1,1000}?)</title>", text, re.DOTALL | re.IGNORECASE)
    body = _shown(unescape(title[1]) if title else text)
    leads = f", a redirect to {_shown(location)}" if location else f": {body}" if body else ""
    words = f"{target} gives {status}{leads}"
    if not is_redirect(status):
        return Unusable(words, hints.failed if status >= 500 else hints.status.get(str(status), hints.choose))
    path = target.partition(" ")[2]
    secure = re.fullmatch(r"https://[^/?#]+" + ("/?" if path == "/" else re.escape(path)), location)
    expected = json.dumps({target: {"status": status}})
    page = f", such as GET {location}" if location.startswith("/") and target.startswith("GET ") else ""
    expect = f"{hints.choose}{page}, or if that is right, give --expect FILE with {expected}"
    return Unusable(words, hints.to_https if secure else expect)


def without_origin(answer: Answer, origin: str) -> Answer:
    """The response of the service at `origin` as any other would give it: a redirect to itself leads to a path."""
    url = urlsplit(origin)
    pattern = re.compile(rf"\A(https?)://{re.escape(url.hostname or '')}(:[0-9]+)?(?=[/?#]|\Z)")

    def path(match: re.Match[str]) -> str:
        return "" if match[1] == url.scheme else f"{match[1]}://localhost"

    headers = [(name, pattern.sub(path, own) if name.lower() == "location" else own) for name, own in answer.headers]
    return replace(answer, headers=tuple(headers))


def location_of(answer: Answer) -> str:
    """Where a redirect leads; empty if the response does not say."""
    return next(iter(answer.values("Location")), "")


def difference(right: Right, answer: Answer) -> str:
    """What a response has instead, in words; empty if it is as expected."""
    here = Right(
        target=right.target,
        status=answer.status,
        media_type=media_type(answer),
        length=None if is_redirect(answer.status) else len(answer.body),
        shape=shape_of_body(answer),
        location=location_of(answer) if is_redirect(answer.status) else None,
    )
    same = (here.status, here.media_type) == (right.status, right.media_type)
    if same and right.length in (None, here.length) and right.location in (None, here.location):
        if right.shape is None:
            return ""
        if here.shape is not None:
            return first_difference(right.shape, here.shape)
    if right.length is None and here.shape is not None:
        here = replace(here, length=None)
    words = here.words()
    if here.status != right.status and here.shape is None:
        words += f": {_shown(answer.body.decode(errors='replace'))}"
    return words


def unexpected(expect: Mapping[str, Any], answer: Answer) -> str:
    """What --expect demands and a response does not have, in words; empty if nothing."""
    if (status := expect.get("status", answer.status)) != answer.status:
        return f"expected status {status}, got {answer.status}"
    for name, value in expect.get("headers", {}).items():
        if value not in answer.values(name):
            return f"expected the header {name}: {value}, got {answer.values(name) or 'none'}"
    text = answer.body.decode(errors="replace")
    for part in expect.get("contains", ()):
        if part not in text:
            return f"expected '{part}' in the body, got {_shown(text)}"
    if "json" in expect and not _holds(expect["json"], _json(answer.body)):
        return f"expected {json.dumps(expect['json'])} in the body, got {_shown(text)}"
    return ""


def _holds(expected: Any, value: Any) -> bool:
    """Whether a JSON value equals what is expected; objects may have more keys."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(k in value and _holds(v, value[k]) for k, v in expected.items())
    return bool(expected == value)


def media_type(answer: Answer) -> str:
    """The content type without its parameters."""
    return (answer.values("Content-Type") or [""])[0].split(";")[0].strip().lower()


def shape_of_body(answer: Answer) -> Shape | None:
    """The shape of a JSON body; None if it is not JSON, or null, which any shape would fit."""
    with suppress(ValueError, RecursionError):
        value = json.loads(answer.body) if media_type(answer).endswith("json") else None
        return None if value is None else shape_of(value)
    return None


def _json(body: bytes) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(body)
    return None


class Recorded(msgspec.Struct, frozen=True):
    """answers.json: the expected responses, and the service on which they were recorded."""

    service: str
    answers: tuple[Right, ...]
    schema: int = 2


def as_json(rights: Sequence[Right], server: str) -> str:
    """The text of answers.json; `server` is the service on which they were recorded."""
    return json.dumps(msgspec.to_builtins(Recorded(server, tuple(rights))), indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> tuple[tuple[Right, ...], str]:
    """The expected responses in answers.json, and the service on which they were recorded."""
    try:
        recorded = read_as(Recorded, json.loads(text))
    except ValueError:
        raise UserError("the recorded answers are of another version of this project: start a new run") from None
    return recorded.answers, recorded.service


def _shown(text: str) -> str:
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}... ({len(plain)} characters)"
