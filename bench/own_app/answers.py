"""The expected responses of an app: recorded from the app on one server, and compared on every other server.

From several responses to the same request, only what they have in common is expected: status and content type; for JSON
the shape (names and types), for anything else the length. No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from bench.contract.client import Answer
from bench.core.errors import UserError
from bench.core.formats import printable
from bench.core.typed import read_as
from bench.own_app.shapes import Shape, first_difference, merged, shape_of, shape_words
from bench.own_app.targets import DEFAULT

TRIES = 3
"""How many responses to each request are recorded."""
BAD_REQUEST = 400
CHECKS_HOST = (
    "if the app checks the Host header (ALLOWED_HOSTS, TrustedHostMiddleware, TRUSTED_HOSTS), write a name that it "
    "allows below each request in --targets FILE: Host: localhost"
)
SHOWN = 300
"""The most characters of a body that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """The expected response to a target; None: anything is accepted."""

    target: str
    status: int
    media_type: str
    length: int | None = None
    shape: Shape | None = None

    def words(self) -> str:
        """A description, to show next to a different response."""
        parts = [f"{self.status} {self.media_type or 'without a content type'}"]
        if self.length is not None:
            parts.append(f"{self.length} bytes")
        if self.shape is not None:
            parts.append(f"JSON {_shown(shape_words(self.shape))}")
        return ", ".join(parts)


class Unusable(Exception):
    """The app's own responses cannot serve as a reference; the text says why."""


def right_of(target: str, answers: Sequence[Answer]) -> Right:
    """What these responses to one request have in common; `Unusable` if they fail or differ in status or type."""
    statuses = sorted({answer.status for answer in answers})
    if len(statuses) > 1:
        raise Unusable(
            f"{target} gives {' and '.join(map(str, statuses))} in turn: the status of a request must not change"
        )
    if not 200 <= statuses[0] < 300:
        words = f"{target} gives {statuses[0]}: {_shown(answers[0].body.decode(errors='replace'))}"
        if statuses[0] == BAD_REQUEST:
            words += f"; {CHECKS_HOST}"
        elif target == DEFAULT.title:
            words += "; choose other requests with --targets FILE"
        raise Unusable(words)
    types = {media_type(answer) for answer in answers}
    if len(types) > 1:
        raise Unusable(
            f"{target} gives {' and '.join(sorted(types))} in turn: the content type of a request must not change"
        )
    shapes = [shape for answer in answers if (shape := shape_of_body(answer)) is not None]
    lengths = {len(answer.body) for answer in answers}
    shape = merged(shapes) if len(shapes) == len(answers) else None
    return Right(
        target=target,
        status=statuses[0],
        media_type=types.pop(),
        length=lengths.pop() if shape is None and len(lengths) == 1 else None,
        shape=shape,
    )


def difference(right: Right, answer: Answer) -> str:
    """What a response has instead, in words; empty if it is as expected."""
    here = Right(
        target=right.target,
        status=answer.status,
        media_type=media_type(answer),
        length=len(answer.body),
        shape=shape_of_body(answer),
    )
    if (here.status, here.media_type) == (right.status, right.media_type) and right.length in (None, here.length):
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
    if not media_type(answer).endswith("json"):
        return None
    try:
        value = json.loads(answer.body)
        return None if value is None else shape_of(value)
    except (ValueError, RecursionError):
        return None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


class Recorded(msgspec.Struct, frozen=True):
    """answers.json: the expected responses, and the service on which they were recorded."""

    service: str
    answers: tuple[Right, ...]
    schema: int = 2


def as_json(rights: Sequence[Right], server: str) -> str:
    """The text of answers.json; `server` is the service on which they were recorded."""
    value = msgspec.to_builtins(Recorded(server, tuple(rights)))
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> tuple[tuple[Right, ...], str]:
    """The expected responses in answers.json, and the service on which they were recorded."""
    try:
        found = read_as(Recorded, json.loads(text))
    except ValueError:
        raise UserError("the recorded answers are of another version of this project: start a new run") from None
    return found.answers, found.service


def _shown(text: str) -> str:
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}... ({len(plain)} characters)"
