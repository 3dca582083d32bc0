"""Verbs of a run on two machines without a swarm: `contexts`, `contexts-place`, `contexts-network`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.run.addresses import FILE
from bench.swarm.contexts import addresses, machines, network_options, read_engine, run_entry
from bench.swarm.several import Chosen


def contexts_verb(argv: Sequence[str]) -> int:
    """`contexts ADDRESS <ENGINES`: print `ROLE NODE CONTEXT ADDRESS KIND`, tab-separated, of the machine of each role.

    ENGINES has a line for the server's engine and one for the load generator's (see `read_engine`).
    """
    lines = sys.stdin.read().splitlines()
    if len(argv) != 1 or len(lines) != 2:
        raise UserError("usage: python3 -m bench contexts ADDRESS <ENGINES")
    for words in machines(read_engine(lines[0]), read_engine(lines[1]), argv[0]):
        print(*words, sep="\t")
    return 0


def contexts_place_verb(argv: Sequence[str]) -> int:
    """`contexts-place RUN <MACHINES`: place a planned run; MACHINES is what `contexts` prints.

    Writes RUN/addresses.tsv, the entry in RUN/run.json, and last RUN/nodes.tsv, by which a run is on several machines.
    """
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench contexts-place RUN <MACHINES")
    run, text = Path(argv[0]), sys.stdin.read()
    chosen = [_chosen(line) for line in text.splitlines()]
    facts = as_object(read_bytes(str(run / "run.json")) or b"")
    if facts is None:
        raise UserError(f"{run}/run.json is not a JSON object")
    ports = addresses(mapping(facts.get("services")), chosen[0][3])
    write_file(run / FILE, "".join(f"{name}\t{address}\n" for name, address in ports))
    write_file(run / "run.json", json.dumps({**facts, "machines": run_entry(chosen, ports)}, indent=1) + "\n")
    write_file(run / "nodes-ever.tsv", text)
    write_file(run / "nodes.tsv", text)
    return 0


def contexts_network_verb(argv: Sequence[str]) -> int:
    """`contexts-network NAME SUBNET`: print the options of `docker network create` for this network, a line each."""
    if len(argv) != 2:
        raise UserError("usage: python3 -m bench contexts-network NAME SUBNET")
    print(*network_options(argv[1])[argv[0]], sep="\n")
    return 0


def _chosen(line: str) -> Chosen:
    try:
        role, node, context, address, kind = line.split("\t")
    except ValueError as error:
        raise UserError(f"not what `contexts` prints: {line!r}") from error
    return role, node, context, address, kind
