"""`steps` and `services`: what is left to measure, and the services of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench.run.folder import find_run, is_measured


def steps_verb(argv: Sequence[str]) -> int:
    """`steps RUN`: what is still to be measured, one tab-separated line each: id, services, dir, seconds, label.

    A pair is one step, with both of its services, as long as it has no verdict.
    """
    from bench.analysis.judged_run import decided_pairs
    from bench.run.reader import read_run

    folder = find_run(argv[0] if argv else "")
    lines = [json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
    units: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        units.setdefault(line.get("unit", line["id"]), []).append(line)
    duets = any(line.get("mode") == "duet" for line in lines)
    settled = decided_pairs(read_run(str(folder))) if duets else set()
    pairs = {line["pair"] for line in lines if line.get("mode") == "duet" and not _control(line["pair"])}
    # A control has no verdict of its own: it goes on with the pairs, or with the solo windows.
    solo_rounds = json.loads((folder / "run.json").read_text()).get("rounds", 0)
    for unit, group in units.items():
        first = group[0]
        mode, number = first.get("mode", "solo"), first["round"]
        over = number > solo_rounds and pairs <= settled
        if (mode == "duet" and first["pair"] in settled) or (mode != "solo" and over):
            continue
        if all(is_measured(folder / line["dir"]) for line in group):
            continue
        services = list(dict.fromkeys(line["service"] for line in group))
        label = f"{' and '.join(services)} {first['scenario']} {first['tool']} {first['level']}"
        folder_of = first["dir"] if mode != "duet" else first["dir"].rpartition("/")[0]
        names = ",".join(line["service"] for line in group[:2]) if mode == "duet" else first["service"]
        print(unit, names, folder_of, round(first["seconds"]), label, sep="\t")
    return 0


def services_verb(argv: Sequence[str]) -> int:
    """`services RUN`: tab-separated lines of the run's services: name, image, interface of waiting, routes, base."""
    folder = find_run(argv[0] if argv else "")
    for name, facts in json.loads((folder / "run.json").read_text())["services"].items():
        waits = "--concurrent" if facts["concurrent"] else "--sequential"
        print(name, facts["image"], waits, ",".join(facts["routes"]), facts["base_image"], sep="\t")
    return 0


def _control(pair: str) -> bool:
    return pair.startswith("aa")
