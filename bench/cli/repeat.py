"""Repeating a run (`again`) or resuming it (`find`, `resume`), and what a repetition takes over from the run."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bench.core.arguments import Parser, minutes_as_seconds
from bench.core.errors import UserError
from bench.core.files import as_object, need_no_links, objects_in, read_bytes
from bench.matrix.model import Matrix, Service
from bench.matrix.packages import pins_of
from bench.matrix.settings import allowed
from bench.plan.running import OWNED
from bench.run.facts import AppFacts, run_facts_of
from bench.run.folder import RESULTS, UNPACKED, find_run, in_results
from bench.run.provenance import harness_hash
from bench.run.reader import Run, read_run, read_service
from bench.words.runs import Now, Then, since_then
from driver.messages import MOST_TEXT, RUN_JSON, MessageError, facts_of

MACHINE = frozenset(
    {"BENCH_REGISTRY", "BENCH_SUBNET", "COMPOSE_SERVICES", "SELECTION"}
    | {"PYTHON_IMAGE", "PYPY_IMAGE", "DEBIAN_IMAGE", "ALPINE_PYTHON_IMAGE"}
)
"""Settings that a repetition does not take over, because they depend on the machine; SELECTION is in the command."""
WITHOUT_VALUE = (OWNED, "--profile", "--no-latency")
INTERNAL = ("--images", "--quiet", "--own-app", "--packages-in", "--own-head", "--sides", "--again")
"""Options that scripts add. run.json has other entries for own apps, packages, refs and a repeated run."""
CHANGING = ("package", "with", "vary", "flags")
_ALWAYS = ("preset", "stack", "framework", "server", "python", "base", "target")
CHOOSING = tuple(f"--{name}" for name in (*_ALWAYS, *CHANGING))
"""Options that choose services."""


def again_verb(argv: Sequence[str]) -> None:
    """`again RUN [SELECTION]`: print what is needed to repeat the run, as JSON; options in SELECTION override its own.

    Keys: `selection`, `bases` (its base images), `folder`; for a user's own app also `own_options` and `own_app`.
    """
    then = read_then(argv[0] if argv else "")
    if then.facts.refs:
        raise UserError(f"{then.name} is a run of two refs: repeat it with scripts/compare.sh")
    app, seed, command = then.facts.own_app or AppFacts(), then.facts.seed, then.facts.command
    if seed is None or command is None:
        raise UserError(f"{then.name} has no selection to repeat: it only checked services (scripts/verify.sh)")
    if edited := [word for word in command if word.partition("=")[0] in INTERNAL]:
        raise UserError(f"{then.name} was edited: no run has an option {edited[0]} in its command")
    bases = [one.base_image for one in then.facts.services.values() if one.base_image]
    repetition = {
        "selection": [*repeated(command, seed, argv[1:]), f"--again={argv[0]}"],
        "bases": list(dict.fromkeys(bases)),
        "own_options": app.options,
        "own_app": app.app,
        "folder": str(find_run(argv[0], "run.json")),
    }
    print(json.dumps(repetition))


def repeated(command: Sequence[str], seed: int, otherwise: Sequence[str]) -> list[str]:
    """The words of the repeated selection; options in `otherwise` replace the old ones."""
    # That they own the target is for users to state each time: the run may be somebody else's.
    asked = {flag for flag, _ in _options(otherwise)} | {OWNED}
    asked |= {"--with"} if "--package" in asked else set()
    kept = [(flag, words) for flag, words in _options(command) if flag not in asked]
    words = [word for _, words in kept for word in words] + list(otherwise)
    return words if any(flag == "--seed" for flag, _ in _options(words)) else [*words, "--seed", str(seed)]


def chooses_the_same(command: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two selections choose services with the same words."""
    first, second = ([one for one in _options(words) if one[0] in CHOOSING] for words in (command, other))
    return first == second


def _options(words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(option, its words) of each option."""
    remaining = iter(words)
    for word in remaining:
        flag, mark, _ = word.partition("=")
        alone = mark or flag in WITHOUT_VALUE
        yield flag, (word,) if alone else (word, *islice(remaining, 1))


def read_then(name: str) -> Then:
    """The run to repeat; UserError if there is no such run, or its run.json cannot be read."""
    folder = find_run(name, "run.json")
    need_no_links(folder)
    if (content := as_object(read_bytes(f"{folder}/run.json", MOST_TEXT) or b"")) is None:
        raise UserError(f"{folder}/run.json is not a JSON object: the run cannot be repeated")
    layers: dict[str, Sequence[str]] = {}
    facts = run_facts_of(content)
    services = {one: read_service(str(folder), one) for one in facts.services}
    for one, service in facts.services.items():
        if service.base_image and services[one].layers:
            layers.setdefault(service.base_image, services[one].layers)
    return Then(
        name=folder.name, facts=facts, plan=objects_in(f"{folder}/plan.jsonl"), services=services, layers=layers
    )


def settings_then(then: Then) -> Mapping[str, str]:
    """The settings that a repetition takes over from the run."""
    known = allowed("settings").keys() - {*MACHINE}
    return {name: value for name, value in then.facts.knobs.items() if name in known}


def check_services(then: Then, command: Sequence[str], matrix: Matrix) -> None:
    """UserError if the selection is the same, but the matrix no longer has one of the services that it chose."""
    if not chooses_the_same(then.facts.command or (), command):
        return
    there = {(s.stack, s.python, s.base) for s in matrix.services}
    for name, made in then.facts.services.items():
        if not made.url and (made.stack, made.python, made.base) not in there:
            raise UserError(
                f"{then.name} measured {name}, which this version does not have: choose other services (--stack), or "
                f"check out {then.facts.harness.version or 'the version that measured it'}"
            )


def again_lines(
    then: Then, facts: Mapping[str, Any], plan: Iterable[str], services: Iterable[Service], own_app: Path | None
) -> list[str]:
    """The differences from the repeated run, a line each; `facts`, `plan`: run.json and plan.jsonl of the new run."""
    locks = own_app / "locks" if own_app else None
    pins = {service.name: pins_of(service, locks) for service in services if not service.url}
    lines = [json.loads(line) for line in plan]
    # The layers of the base images on this machine: `NAME=LAYER,LAYER...` for each.
    pairs = (word.rpartition("=") for word in os.environ.get("BENCH_BASES", "").split())
    bases = {name: layers.split(",") for name, _, layers in pairs if name and layers}
    return since_then(then, Now(facts=run_facts_of(facts), plan=lines, pins=pins, bases=bases))


NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
"""What Compose allows as a project's name."""


def find_verb(argv: Sequence[str]) -> None:
    """`find RUN`: print the path, within results/, of a run given by name or path; UserError if it is elsewhere."""
    print(in_results(argv[0] if argv else "").relative_to(RESULTS))


def resume_verb(argv: Sequence[str]) -> None:
    """`resume --run=RUN [--max-time MINUTES]`: print the run's name and, if given, the time limit in seconds.

    UserError if the project or the plan has changed: figures of two versions are never mixed, and only what was planned
    is started.
    """
    parser = Parser("matrix.sh --resume RUN")
    parser.add_argument("--run", default="")
    parser.add_argument("--max-time", type=minutes_as_seconds)
    options = parser.parse_args(argv)
    folder = in_results(options.run)
    if folder.parent == UNPACKED:
        raise UserError(f"{folder.name} is a published run and cannot be resumed: repeat it with --again {folder.name}")
    if not NAME.fullmatch(folder.name):
        raise UserError(f"cannot resume '{folder.name}': rename it, using only a-z, 0-9, '-' and '_'")
    source = read_run(str(folder))
    if source.facts.harness.hash != harness_hash():
        instead = f"start a new run, or check out {source.facts.harness.version or 'the version that measured it'}"
        raise UserError(f"the project has changed since {folder.name} was planned: {instead}")
    if edited := ", ".join(_edited(source)):
        raise UserError(f"{folder.name} was edited after it was planned, start a new run: {edited}")
    print(folder.name, "" if options.max_time is None else f"{options.max_time:.0f}")


def _edited(source: Run) -> Iterator[str]:
    yield from source.changed
    try:
        facts_of(as_object(read_bytes(f"{source.path}/run.json") or b"") or {})
    except MessageError:
        yield RUN_JSON
