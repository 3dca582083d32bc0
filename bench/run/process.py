"""What actually runs in a run's services, and which of them are the same in spite of their settings.

This only ever takes a comparison away. So where something is not known, two services count as different: a limit that
cannot be read, or a server whose process does not have the command line of its start, because code in it rewrites the
titles of processes, and the variables in memory with them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.files import as_object, items, mapping, read_bytes
from bench.matrix.flags import FLAGS, flag_groups
from bench.matrix.knobs import JIT, LIMITS, REF
from bench.run.reader import NO_JIT, Run, ServiceFacts, read_service

RUNNING = "running.json"
"""In raw/services/SERVICE, from the driver (driver/services/running.py)."""
MOST_BYTES = 1 << 20
EQUAL = "equal sides"
"""The outcome of a service that is not loaded because another one runs the same."""


@dataclass(frozen=True, slots=True)
class Running:
    """What runs in a service: equal ones are the same. `effects`: what each of its knobs brings about there.

    `command`: the flags of the server's process; `processes`: how many there are.
    """

    image_id: str
    command: tuple[tuple[str, ...], ...]
    processes: int
    effects: tuple[tuple[str, str | None], ...]


def running_of(text: bytes | None, service: ServiceFacts, settings: Mapping[str, str]) -> Running | None:
    """What runs in a service, from its running.json; None if not all of that is known."""
    facts = mapping(as_object(text or b""))
    processes = [mapping(one) for one in items(facts.get("processes"))]
    argv = service.command.argv if service.command else ()
    server = next((one for one in processes if argv and _executes(items(one.get("argv")), argv)), None)
    if server is None or service.image_id is None:
        return None
    command = flag_groups(argv)
    effects: list[tuple[str, str | None]] = []
    for name, value in settings.items():
        if name in (FLAGS, REF):
            # The flags are in the command.
            effects.append((name, value if name == REF else None))
        elif name in LIMITS:
            if not isinstance(limit := mapping(facts.get("limits")).get(name), str):
                return None
            effects.append((name, limit))
        elif (name == JIT and service.jit == NO_JIT) or _prevails(command, name):
            effects.append((name, None))
        elif name in (environment := mapping(server.get("environment"))):
            # None: the process does not have it.
            effects.append((name, repr(environment[name])))
        else:
            return None
    return Running(service.image_id, command, len(processes), tuple(effects))


def _executes(words: Sequence[Any], argv: Sequence[str]) -> bool:
    """Whether a process has this command line; a script's has its interpreter before it, and paths of programs."""
    own = [str(word) for word in words[-len(argv) :]]
    return len(own) == len(argv) and all(b in (a, posixpath.basename(a)) for a, b in zip(own, argv, strict=True))


def _prevails(command: Sequence[Sequence[str]], variable: str) -> bool:
    """Whether a flag prevails over a variable: `uvicorn --loop uvloop` over UVICORN_LOOP, --no-ws over UVICORN_WS."""
    prefix, _, rest = variable.lower().replace("_", "-").partition("-")
    flags = {group[0] for group in command[1:]}
    return [*command[0][:1]] == [prefix] and not flags.isdisjoint((f"--{rest}", f"--no-{rest}"))


def equal_sides(run: Run) -> Iterator[tuple[str, str]]:
    """(service, words) of each service that is not to be loaded, because an earlier one runs the same."""
    seen: dict[Running, str] = {}
    settings_by_service = {name: service.settings for name, service in run.facts.services.items()}
    for name, settings in settings_by_service.items():
        service = read_service(run.path, name)
        running = running_of(read_bytes(f"{run.path}/raw/services/{name}/{RUNNING}", MOST_BYTES), service, settings)
        if service.failure or running is None:
            continue
        if (other := seen.setdefault(running, name)) != name:
            there = settings_by_service[other]
            knobs = " ".join(f"{knob}={value}" for knob, value in settings.items() if there.get(knob) != value)
            yield name, f"{knobs} changes nothing in the running process: it is that of {other}"
