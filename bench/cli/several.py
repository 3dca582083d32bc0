"""Verbs of a run on several machines: `counters`, `counters-reached`, `several-compose`, `several-nodes`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.load.cpu_counters import CpuCounters
from bench.load.far_counters import Answer, await_reader, serve
from bench.run.addresses import read_addresses
from bench.swarm.contexts import contexts_compose
from bench.swarm.lanes import of_largest_kinds
from bench.swarm.several import chosen_nodes, more_loadgens, several_compose


def counters_verb(argv: Sequence[str]) -> int:
    """`counters FILE`: answer `bench turns` on another machine; FILE has a line `NAME<tab>FOLDER` of each container."""
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench counters FILE")
    serve(lambda: _answer(_folders(Path(argv[0])))).serve_forever()
    return 0


def counters_reached_verb(argv: Sequence[str]) -> int:
    """`counters-reached ADDRESS...`: wait for each reader (HOST or HOST:PORT) to answer from here."""
    if not argv:
        raise UserError("usage: python3 -m bench counters-reached ADDRESS...")
    for address in argv:
        await_reader(address)
    return 0


def several_compose_verb(argv: Sequence[str]) -> int:
    """`several-compose RUN PROJECT <COMPOSE`: print the Compose file of a run on several machines, as JSON."""
    if len(argv) != 2:
        raise UserError("usage: python3 -m bench several-compose RUN PROJECT")
    compose, project, ports = json.load(sys.stdin), argv[1], read_addresses(Path(argv[0]))
    made = contexts_compose(compose, project, ports) if ports else several_compose(compose, project)
    print(json.dumps(made, indent=1))
    return 0


def several_nodes_verb(argv: Sequence[str]) -> int:
    """`several-nodes FILE [LOADGENS] <ROLES`: print `ROLE NODE CONTEXT ADDRESS KIND`, by tabs, of a node for each role.

    ROLES is what `scripts/swarm.sh roles` prints; FILE has such lines of the nodes that the run has had. Several load
    generators have a node each.
    """
    if len(argv) not in (1, 2) or not argv[-1] or (len(argv) == 2 and not argv[1].isdecimal()):
        raise UserError("usage: python3 -m bench several-nodes FILE [LOADGENS] <ROLES")
    before = Path(argv[0]).read_text().splitlines() if Path(argv[0]).exists() else ()
    roles = sys.stdin.read().splitlines()
    # Of a run that goes on, a node of another kind is named where none is left.
    kept = roles if before else of_largest_kinds(roles)[0]
    chosen = chosen_nodes(kept, before)
    first = next(words for words in chosen if words[0] == "loadgen")
    chosen += more_loadgens(kept, first, int(argv[1]) if len(argv) == 2 else 1)
    for words in chosen:
        print(*words, sep="\t")
    return 0


def _folders(file: Path) -> Mapping[str, str]:
    lines = (line.split("\t") for line in file.read_text().splitlines()) if file.exists() else ()
    return {line[0]: line[1] for line in lines if len(line) > 1}


def _answer(folders: Mapping[str, str]) -> Answer:
    counters = CpuCounters(folders)

    def answer(names: list[str]) -> tuple[Mapping[str, int], tuple[int, ...]]:
        reading = counters.read(*(name for name in names if name in folders))
        return {name: used for name, used in reading.cpu_ns.items() if name in folders}, reading.host_ticks

    return answer
