"""What holds for every output of a parser."""

from __future__ import annotations

import json
from typing import Any

from bench.tools.parsed import Parsed

REPORTS = ("complete", "partial", "absent")
COUNTS = ("requests", "attempts", "ok", "bytes_read")
RATES = ("duration_s", "rps")


def check(parsed: Parsed) -> None:
    out = parsed.as_dict()
    # Strict JSON: every figure is finite.
    assert json.loads(json.dumps(out, allow_nan=False)) == out
    assert out["report"] in REPORTS
    assert (out["failure"] is None) == (out["report"] == "complete")
    counts = [out[key] for key in COUNTS] + [
        out["errors"][key] for key in ("connect", "read", "write", "timeout", "non2xx")
    ]
    assert all(value is None or (type(value) is int and value >= 0) for value in counts)
    assert all(out[key] is None or out[key] >= 0 for key in RATES)
    assert all(value is None or value >= 0 for value in out["latency_s"].values())
    assert len(str(out["failure"])) < 400
    check_totals(out)


def check_totals(out: dict[str, Any]) -> None:
    """No more good answers than answers, and each answer has one status.

    Whether figures that the tool prints twice agree is asked by the validity rules, of a whole measurement.
    """
    requests, status = out["requests"], out["errors"]["status"]
    most = out["ok"] if out["ok_range"] is None else out["ok_range"][1]
    if requests is not None:
        assert most is None or most <= requests
    if out["ok_range"] is not None:
        assert 0 <= out["ok_range"][0] <= out["ok_range"][1]
    if status is not None:
        assert requests == sum(count for code, count in status.items() if code != "0")
