"""The step file, results/RUN/step.sh: one step of the plan as shell assignments.

The loop on the host and `loadgen/measure` source it, so that neither reads the plan. A step is a solo measurement, a
null-server measurement, or a block of services that are loaded in turns.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.drive.steps import Step
from bench.plan.measurement import measurement_of
from bench.plan.shares import shares
from bench.run.addresses import read_addresses

LINES = "step.jsonl"
GRACE_S = 10
"""Seconds that a load tool may take beyond its duration and timeout."""
COUNT_DEADLINE_S = 600
"""Seconds that a load by count may take."""
ENDLESS_S = 3600
"""The duration that a tool in turns is started with: it is told to end when it has had its turns."""
PORT = 8080
NAMES: Mapping[str, str] = MappingProxyType({})
"""Of a run whose services are all reached by their names."""

PlanLine = Mapping[str, Any]


def write_step(run: Path, lines: Sequence[PlanLine], environ: Mapping[str, str], at: Path | None = None) -> None:
    """Write step.sh in RUN, or in its lane's folder `at`; GRACE and COUNT_DEADLINE (seconds) replace the defaults."""
    at = at or run
    if lines[0].get("mode") == "turns":
        _remove_earlier(run, Step(tuple(lines)))
        # For `bench turns`, which takes the turns of a block: the same lines as in the plan, with their names here.
        write_file(at / LINES, "".join(json.dumps(line) + "\n" for line in lines))
    text = step_file(
        lines,
        grace_s=_seconds(environ, "GRACE", GRACE_S),
        count_deadline_s=_seconds(environ, "COUNT_DEADLINE", COUNT_DEADLINE_S),
        addresses=read_addresses(run),
    )
    write_file(at / "step.sh", text)


def _remove_earlier(run: Path, block: Step) -> None:
    """What an earlier try of a block left: its windows must not pass for those of this one."""
    for line in block.lines:
        shutil.rmtree(run / line["dir"], ignore_errors=True)
    for service in block.services:
        for file in (run / block.dir / "services").glob(f"{service}.*"):
            file.unlink()


def step_file(
    lines: Sequence[PlanLine],
    *,
    grace_s: float = GRACE_S,
    count_deadline_s: float = COUNT_DEADLINE_S,
    addresses: Mapping[str, str] = NAMES,
) -> str:
    """The text of step.sh for the plan's lines of one step; `addresses` has services not reached by their names."""
    first = lines[0]
    mode = first.get("mode", "solo")
    names = [load_name(line) for line in lines] if mode == "turns" else [""]
    if len(set(names)) != len(lines) or len({line.get("unit", line["id"]) for line in lines}) != 1:
        raise UserError(f"the plan's lines of {first['id']} are not one step")
    step = Step(tuple(lines))
    text = [
        f"STEP_ID={_quoted(step.id)}",
        f"STEP_MODE={_quoted(mode)}",
        f"STEP_LABEL={_quoted(step.label)}",
        f"STEP_DIR={_quoted(step.dir)}",
        f"STEP_SERVICES={_array(step.services)}",
        f"STEP_LOADS={_array(names)}",
        f"STEP_HOST_NETWORK={'yes' * bool(first.get('host_network'))}",
    ]
    text += [f"STEP_CLIENTS={_array(clients)}"] if (clients := client_names(first)) else []
    for name, line in zip((*names, *clients), (*lines, *_shares(first)), strict=True):
        values = load_values(line, grace_s, count_deadline_s, addresses)
        entries = " ".join(f"[{key}]={_quoted(value)}" for key, value in values.items())
        text.append(f"declare -A {f'LOAD_{name}' if name else 'LOAD'}=({entries})")
    return "\n".join(text) + "\n"


def load_name(line: PlanLine) -> str:
    """The name in step.sh of a window in turns: its id as a bash name."""
    return re.sub(r"[^A-Za-z0-9]", "_", line["id"])


def client_names(line: PlanLine) -> list[str]:
    """The names in step.sh of what each of several load generators does; none where there is one."""
    return [f"client_{number}" for number in range(1, len(_shares(line)) + 1)]


def _shares(line: PlanLine) -> list[PlanLine]:
    if line.get("loadgens", 1) == 1:
        return []
    if isinstance(planned := measurement_of(line), str):
        raise UserError(f"{line['id']} of the plan: {planned}")
    return [share.as_dict() for share in shares(planned)]


def load_values(
    line: PlanLine, grace_s: float, count_deadline_s: float, addresses: Mapping[str, str] = NAMES
) -> dict[str, str]:
    """What `loadgen/measure` needs of a line of the plan; what the line leaves out is ''."""
    rate, connections, duration_s, timeout_s = (
        line.get(key) for key in ("rate", "connections", "duration_s", "timeout_s")
    )
    service = line["service"]
    if timeout_s is None:
        raise UserError(f"{line['id']} of the plan has no timeout_s")
    if line.get("mode") == "turns":
        duration_s = ENDLESS_S
    values = {
        "ID": line["id"],
        "DIR": line["dir"],
        "URL": (line.get("url") or f"http://{addresses.get(service, f'{service}:{PORT}')}") + line["path"],
        "METHOD": line.get("method") or "GET",
        "BODY": line.get("body"),
        "REQUESTS": line.get("requests"),
        "TARGETS": line.get("targets"),
        "TOOL": line["tool"],
        "CONNECTIONS": connections,
        "COUNT": line.get("count"),
        "RATE": rate,
        "RATE_PER_CONNECTION": rate / connections if rate and connections else None,
        "DURATION": duration_s,
        "TIMEOUT": timeout_s,
        "THREADS": line.get("threads") or 1,
        "WARMUP": line.get("warmup_s") or 0,
        "KEEPALIVE": line.get("keepalive") is not False,
        "DEADLINE": duration_s + timeout_s + grace_s if duration_s else count_deadline_s,
        "KNEE_P99": line.get("knee_p99_s"),
        "KNEE_SHARE": line.get("knee_share"),
    }
    return {key: plain(value) for key, value in values.items()}


def plain(value: str | float | None) -> str:
    """A value as the tools' command lines take it: whole numbers without a fraction, None as ''."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _array(values: Sequence[str]) -> str:
    return f"({' '.join(map(_quoted, values))})"


def _quoted(value: str) -> str:
    """A word of bash with exactly this value."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"the plan holds {value!r}, which is not UTF-8") from error
    if "\0" in value:
        raise UserError(f"the plan holds {value!r}, and no shell can hold a NUL")
    return shlex.quote(value)


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(environ.get(name) or default)
    except ValueError as error:
        raise UserError(f"{name}={environ[name]} is not a number of seconds") from error
