"""The expected responses of an app: recorded from the app on one server, and compared on every other server.

From several responses to the same request, only what they have in common is expected: status and content type; for JSON
the shape (names and types), for anything else the length. No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.contract.client import Answer
from bench.core.formats import printable
from bench.own_app.targets import DEFAULT

TRIES = 3
"""How many responses to each request are recorded."""
NULL = "null"
SHOWN = 300
"""The most characters of a body that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """The expected response to a target; None: anything is accepted."""

    target: str
    status: int
    media_type: str
    length: int | None = None
    shape: Any = None

    def words(self) -> str:
        """A description, to show next to a different response."""
        parts = [f"{self.status} {self.media_type or 'without a content type'}"]
        if self.length is not None:
            parts.append(f"{self.length} bytes")
        if self.shape is not None:
            parts.append(f"JSON {_shown(json.dumps(self.shape, ensure_ascii=False))}")
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
        raise Unusable(words + ("; choose other requests with --targets FILE" if target == DEFAULT.title else ""))
    types = {media_type(answer) for answer in answers}
    if len(types) > 1:
        raise Unusable(
            f"{target} gives {' and '.join(sorted(types))} in turn: the content type of a request must not change"
        )
    shapes = [shape_of_body(answer) for answer in answers]
    lengths = {len(answer.body) for answer in answers}
    shape = None if None in shapes else merged(shapes)
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
    if (
        (here.status, here.media_type) == (right.status, right.media_type)
        and right.length in (None, here.length)
        and (right.shape is None or fits(right.shape, here.shape))
    ):
        return ""
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


def shape_of_body(answer: Answer) -> Any:
    """The shape (names and types) of a JSON body; None if it is not JSON."""
    if not media_type(answer).endswith("json"):
        return None
    value = _json(answer.body)
    return None if value is None else shape_of(value)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def shape_of(value: Any) -> Any:
    """The shape of a JSON value: objects by key, arrays by the shape of their items, anything else by type."""
    if isinstance(value, dict):
        return {str(key): shape_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [merged([shape_of(item) for item in value])] if value else []
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"


def merged(shapes: Sequence[Any]) -> Any:
    """The shape that fits all of these shapes; `any` if they have nothing in common."""
    known = [shape for shape in shapes if shape not in (NULL, [])]
    if not known:
        return shapes[0]
    if all(isinstance(shape, dict) for shape in known):
        # A key that not all of them have is optional.
        names = dict.fromkeys(name for shape in known for name in shape)
        every = {name: merged([shape[name] for shape in known if name in shape]) for name in names}
        return {n if all(n in shape for shape in known) else f"{n.removesuffix('?')}?": v for n, v in every.items()}
    if all(isinstance(shape, list) for shape in known):
        return [merged([shape[0] for shape in known])]
    return known[0] if all(shape == known[0] for shape in known) else "any"


def fits(expected: Any, shape: Any) -> bool:
    """Whether a shape is as expected. Null and an empty array fit anything."""
    if expected in ("any", NULL) or shape in (NULL, []) or expected == []:
        return not (expected == [] and isinstance(shape, dict | str)) or shape == NULL
    if isinstance(expected, dict):
        if not isinstance(shape, dict):
            return False
        needed = {name for name in expected if not name.endswith("?")}
        known = {name.removesuffix("?"): inner for name, inner in expected.items()}
        return needed <= shape.keys() <= known.keys() and all(fits(known[name], shape[name]) for name in shape)
    if isinstance(expected, list):
        return isinstance(shape, list) and fits(expected[0], shape[0])
    return bool(expected == shape)


def as_json(rights: Sequence[Right], server: str) -> str:
    """The text of answers.json; `server` is the service on which they were recorded."""
    value = {"schema": 1, "service": server, "answers": [asdict(right) for right in rights]}
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> tuple[tuple[Right, ...], str]:
    """The expected responses in answers.json, and the service on which they were recorded."""
    value = json.loads(text)
    return tuple(Right(**one) for one in value["answers"]), value["service"]


def _shown(text: str) -> str:
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}... ({len(plain)} characters)"
