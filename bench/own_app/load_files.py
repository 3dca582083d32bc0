"""What the load tools read to send an app's requests: a Lua script for wrk, targets for vegeta, bodies.

A scenario with its requests is a folder of the run: requests.lua, targets.txt, `headers` of
the first one, and body-N of the N-th target that has one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bench.core.files import write_file
from bench.own_app.app import OwnApp
from bench.own_app.targets import Target

LOAD = "app/load"
ORIGIN = "http://ORIGIN"
"""Stands for the service in targets.txt."""

_SCRIPT = """-- The requests of a scenario, one after another; generated. Each thread of wrk takes turns of its own.
local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local function body(name)
  local file = assert(io.open(here .. name, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end
local targets = {
%(targets)s
}
local order = {%(order)s}
local requests, at = {}, 0

function init(args)
  for number, target in ipairs(targets) do
    local headers = {}
    for name, value in pairs(wrk.headers) do headers[name] = value end
    for name, value in pairs(target.headers) do headers[name] = value end
    requests[number] = wrk.format(target.method, target.path, headers, target.body)
  end
end

function request()
  at = at %% #order + 1
  return requests[order[at]]
end
"""


def folder_of(scenario: str) -> str:
    """The folder of a scenario, relative to the run's."""
    return f"{LOAD}/{scenario}"


def write_load_files(run: Path, app: OwnApp) -> None:
    """Write the files of all scenarios."""
    for scenario in app.scenarios:
        folder = run / folder_of(scenario)
        folder.mkdir(parents=True, exist_ok=True)
        targets = app.targets_of(scenario)
        for number, target in enumerate(targets, 1):
            if target.body is not None:
                write_file(folder / f"body-{number}", target.body)
        write_file(folder / "headers", "".join(f"{name}: {value}\n" for name, value in headers_of(targets[0])))
        write_file(folder / "requests.lua", lua_script(targets))
        write_file(folder / "targets.txt", vegeta_targets(targets, str(folder)))


def lua_script(targets: Sequence[Target]) -> str:
    """requests.lua."""
    entries = []
    for number, one in enumerate(targets, 1):
        headers = ", ".join(f"[{_lua(name)}] = {_lua(value)}" for name, value in headers_of(one))
        body = f'body("body-{number}")' if one.body is not None else "nil"
        entries.append(
            f"  {{method = {_lua(one.method)}, path = {_lua(one.path)}, headers = {{{headers}}}, body = {body}}},"
        )
    return _SCRIPT % {"targets": "\n".join(entries), "order": ", ".join(map(str, order(targets)))}


def vegeta_targets(targets: Sequence[Target], folder: str) -> str:
    """targets.txt, in vegeta's format; its command puts the service's address for `ORIGIN`."""
    groups = []
    for number in order(targets):
        one = targets[number - 1]
        lines = [f"{one.method} {ORIGIN}{one.path}", *(f"{name}: {value}" for name, value in headers_of(one))]
        groups.append("\n".join([*lines, *([f"@{folder}/body-{number}"] if one.body is not None else [])]) + "\n")
    return "\n".join(groups)


def headers_of(target: Target) -> tuple[tuple[str, str], ...]:
    """Its headers. A body without a Content-Type is JSON, for every tool."""
    if target.body is None or any(name.lower() == "content-type" for name, _ in target.headers):
        return target.headers
    return (*target.headers, ("Content-Type", "application/json"))


def order(targets: Sequence[Target]) -> list[int]:
    """The numbers of the targets, each as often as its weight says, spread evenly (smooth weighted round robin)."""
    divisor = math.gcd(*(one.weight for one in targets))
    weights = [one.weight // divisor for one in targets]
    credit, found = [0] * len(weights), []
    for _ in range(sum(weights)):
        credit = [have + weight for have, weight in zip(credit, weights, strict=True)]
        best = credit.index(max(credit))
        credit[best] -= sum(weights)
        found.append(best + 1)
    return found


def _lua(text: str) -> str:
    """A Lua string; its bytes beyond the printable ones as decimal escapes."""
    plain = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03d}" for b in text.encode())
    return f'"{plain}"'
