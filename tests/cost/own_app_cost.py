"""How long one's own app takes: a ranked table of twelve servers, and their images after a change of the app alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.core.errors import UserError
from tests.cost.harness_cost import Cost, interval_s, print_table

SERVERS, MOST_RUN_S, MOST_REBUILD_S = 12, 300, 3


def own_app_cost(argv: Sequence[str]) -> int:
    """`own RUN NAME=BEGIN_NS,END_NS...`: print both figures; status 1 where one is missed or unknown."""
    if len(argv) != 3:
        raise UserError("own takes a run and two intervals; see scripts/harness-cost.sh")
    spans = dict(map(interval_s, argv[1:]))
    ranked = ranked_services(Path(argv[0]))
    whole = len(ranked) == SERVERS
    words = f"wall, images there; {len(ranked)} of {SERVERS} servers ranked"
    return print_table(
        [
            Cost("a ranked table of one's own app", "s", MOST_RUN_S, spans["own-run"] if whole else None, words),
            Cost(
                "rebuild after a change of the app alone",
                "s",
                MOST_REBUILD_S,
                spans["own-rebuild"] / SERVERS,
                f"a service; {spans['own-rebuild']:.1f} s for {SERVERS}",
            ),
        ]
    )


def ranked_services(folder: Path) -> set[str]:
    """The services that have a rank in the run's tables."""
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    return {line["service"] for line in lines if line.get("kind") == "service" and line.get("rank")}
