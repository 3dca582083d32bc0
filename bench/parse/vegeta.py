"""Parser of vegeta's text and JSON reports (12.x), and of its binary results through ``vegeta report``.

The JSON is exact (nanoseconds); the text rounds to three or four digits.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

from .parsed import Draft, Parsed, absent
from .text import (
    COUNT,
    DECIMAL,
    Cursor,
    Unfinished,
    clip,
    go_error_kind,
    lines_of,
    read_report,
    scaled,
    unreadable,
)

_START = re.compile(r"Requests +\[total, rate")
_LABELS: dict[str, tuple[str, ...]] = {
    "Requests": ("total",),
    "Duration": ("total", "attack", "wait"),
    "Latencies": ("mean", "max"),
    "Bytes In": ("total",),
    "Bytes Out": ("total",),
    "Success": ("ratio",),
}
"""The rows with their required labels; other labels vary between versions of vegeta."""
_ROWS = {name: re.compile(rf"{name} +\[([a-z0-9, ]{{1,60}})\] +(\S.*)") for name in _LABELS}
_CODES = re.compile(r"Status Codes +\[code:count\] *(.*)")
_CODE = re.compile(rf"([0-9]{{1,3}}):{COUNT}")
_ERROR_SET = re.compile("Error Set:")
_NUMBER = re.compile(DECIMAL)
_DURATION = re.compile(rf"(?:([0-9]{{1,6}})h)?(?:([0-9]{{1,4}})m)?{DECIMAL}(ns|µs|μs|us|ms|s)")
_EXPONENTS = {"ns": -9, "µs": -6, "μs": -6, "us": -6, "ms": -3, "s": 0}
_LATENCIES = {"min": "min", "mean": "mean", "50": "p50", "90": "p90", "95": "p95", "99": "p99", "max": "max"}

_JSON_START = re.compile(r'^\{\s*"(?:latencies|bytes_in)":', re.MULTILINE)
_GOB_START = re.compile(rb"[^\n]{0,16}\x06Result\x01")
_FORMATS = {
    "hist": re.compile(r"Bucket +# +% +Histogram"),
    "hdrplot": re.compile(r"Value\(ms\) +Percentile +TotalCount"),
    "csv": re.compile(r"[0-9]{10,20},[0-9]{1,5},[0-9]{1,20},"),
    "jsonl": re.compile(r'\{"attack":'),
}
_GOB_TIMEOUT_S = 120.0


def parse(data: bytes) -> Parsed:
    """The figures of one attack. Status ``0`` is a request without an answer.

    vegeta lists each error text once, without a count: where several kinds share status 0, their counts are ``None``.
    """
    if _GOB_START.match(data):
        return _parse_gob(data)
    lines = lines_of(data)
    return read_report("vegeta", lines, _START, _read, lambda _: _parse_json(data, lines))


def _read(cursor: Cursor, draft: Draft) -> None:
    figures = draft.figures
    row = _row(cursor, "Requests")
    total = _count(row["total"])
    figures.update(attempts=total, rps=_rate(row.get("throughput")))
    extra = figures["extra"] = {"rate": _rate(row.get("rate"))}
    row = _row(cursor, "Duration")
    figures["duration_s"] = _seconds(row["total"])
    extra["attack_s"] = _seconds(row["attack"])
    extra["wait_s"] = _seconds(row["wait"])
    row = _row(cursor, "Latencies")
    if total:
        for label, text in row.items():
            if label in _LATENCIES:
                draft.latency[_LATENCIES[label]] = _seconds(text)
    figures["bytes_read"] = _count(_row(cursor, "Bytes In")["total"])
    figures["bytes_exact"] = True
    _row(cursor, "Bytes Out")
    _row(cursor, "Success")

    status: dict[str, int] = {}
    for text in cursor.need(_CODES, "the Status Codes line")[1].split():
        code = _CODE.fullmatch(text)
        if not code:
            raise Unfinished(f"{clip(text)!r} is not a status code with its count")
        status[code[1]] = int(code[2])
    _count_answers(draft, status)
    cursor.need(_ERROR_SET, "the Error Set")
    texts = [line for line in cursor.lines[cursor.at :] if line]
    _check_error_set(status, texts)
    _count_errors(draft, status, texts)


def _row(cursor: Cursor, name: str) -> dict[str, str]:
    """The values of a row by label."""
    found = cursor.need(_ROWS[name], f"the {name} row")
    labels, values = found[1].split(", "), found[2].split(", ")
    if len(labels) != len(values) or not set(_LABELS[name]) <= set(labels):
        raise Unfinished(f"the values of the {name} row do not match its labels")
    return dict(zip(labels, values, strict=True))


def _count_answers(draft: Draft, status: dict[str, int]) -> None:
    answers = {code: count for code, count in status.items() if code != "0"}
    requests = sum(answers.values())
    ok = sum(count for code, count in answers.items() if code.startswith("2"))
    draft.figures.update(requests=requests, ok=ok)
    draft.errors.update(non2xx=requests - ok, status=status)


def _count_errors(draft: Draft, status: dict[str, int], texts: Iterable[str]) -> None:
    unanswered = status.get("0", 0)
    kinds = {go_error_kind(text) for text in texts if not _is_status(text)}
    if unanswered and not kinds:
        return
    draft.errors.update(connect=0, read=0, timeout=0)
    if unanswered:
        draft.errors.update(dict.fromkeys(kinds, unanswered if len(kinds) == 1 else None))


def _check_error_set(status: dict[str, int], texts: list[str]) -> None:
    """Unfinished if a failing status has no error text: nothing else marks the end of the error set."""
    for code in status:
        if code == "0":
            explained = any(not _is_status(text) for text in texts)
        else:
            explained = 200 <= int(code) < 400 or any(text.startswith(code) for text in texts)
        if not explained:
            raise Unfinished(f"cut off before the error of status {code}")


def _is_status(text: str) -> bool:
    """Whether an error text is a status line, such as ``500 Internal Server Error``."""
    return text[:3].isdecimal() and text[3:4] in ("", " ")


def _count(text: str) -> int:
    if re.fullmatch(COUNT, text):
        return int(text)
    raise Unfinished(f"{clip(text)!r} is not a count")


def _rate(text: str | None) -> float | None:
    if text is None or text in ("NaN", "+Inf"):
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    raise Unfinished(f"{clip(text)!r} is not a rate")


def _seconds(text: str) -> float:
    """A duration as Go prints it: ``1h2m3.5s``, ``0s``, ``260.963µs``."""
    found = _DURATION.fullmatch(text)
    if not found:
        raise Unfinished(f"{clip(text)!r} is not a duration")
    hours, minutes, number, unit = found.groups()
    seconds = scaled(number, _EXPONENTS[unit])
    if hours or minutes:
        return round(int(hours or 0) * 3600 + int(minutes or 0) * 60 + seconds, 9)
    return seconds


def _parse_json(data: bytes, lines: list[str], format: str = "json") -> Parsed:
    text = data.decode("utf-8", "replace")
    starts = [found.start() for found in _JSON_START.finditer(text)]
    if not starts:
        return unreadable("vegeta", lines, _FORMATS)
    if len(starts) > 1:
        return absent("vegeta", f"{len(starts)} reports in one output", format)
    draft = Draft("vegeta", format)
    try:
        report, end = json.JSONDecoder().raw_decode(text, starts[0])
        if text[end:].partition("\n")[0].strip():
            raise Unfinished("unexpected text after the JSON")
        _read_json(report, draft)
    except (ValueError, RecursionError) as reason:
        return draft.finish("partial", f"incomplete JSON: {clip(str(reason))}")
    except Unfinished as reason:
        return draft.finish("partial", str(reason))
    return draft.finish("complete")


def _read_json(report: Any, draft: Draft) -> None:
    total = _whole(report, "requests")
    attack, wait = _whole(report, "duration"), _whole(report, "wait")
    draft.figures.update(
        attempts=total,
        duration_s=(attack + wait) / 1e9,
        rps=_real(report, "throughput"),
        extra={"rate": _real(report, "rate"), "attack_s": attack / 1e9, "wait_s": wait / 1e9},
        bytes_read=_whole(report, "bytes_in", "total"),
        bytes_exact=True,
    )
    latencies = {
        name: _whole(report, "latencies", label if label in ("min", "mean", "max") else label + "th") / 1e9
        for label, name in _LATENCIES.items()
    }
    if total:
        draft.latency.update(latencies)
    codes = _member(report, "status_codes")
    if not isinstance(codes, dict) or not all(re.fullmatch("[0-9]{1,3}", code) for code in codes):
        raise Unfinished("'status_codes' does not hold counts by status code")
    status = {code: _whole(codes, code) for code in codes}
    texts = _member(report, "errors")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Unfinished("'errors' does not hold texts")
    _count_answers(draft, status)
    _count_errors(draft, status, texts)


def _member(report: Any, *path: str) -> Any:
    for name in path:
        if not isinstance(report, dict) or name not in report:
            raise Unfinished(f"the JSON has no {'.'.join(path)!r}")
        report = report[name]
    return report


def _whole(report: Any, *path: str) -> int:
    value = _member(report, *path)
    if type(value) is int and 0 <= value < 10**18:
        return value
    raise Unfinished(f"{'.'.join(path)!r} is not a count")


def _real(report: Any, *path: str) -> float:
    value = _member(report, *path)
    if type(value) in (int, float) and 0 <= value < 10**18:
        return float(value)
    raise Unfinished(f"{'.'.join(path)!r} is not a rate")


def _parse_gob(data: bytes) -> Parsed:
    """Binary results, decoded by vegeta itself, which defines their encoding and its percentiles."""
    vegeta = shutil.which("vegeta")
    if vegeta is None:
        return absent("vegeta", "binary results need vegeta, which is not installed here", "gob")
    command = [vegeta, "report", "-type=json"]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_GOB_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return absent("vegeta", f"vegeta report took longer than {_GOB_TIMEOUT_S:g} s", "gob")
    except OSError as reason:
        return absent("vegeta", f"vegeta report did not start: {reason.strerror}", "gob")
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        return absent("vegeta", f"vegeta report could not read the results: {clip(said)}", "gob")
    return _parse_json(done.stdout, lines_of(done.stdout), "gob")
