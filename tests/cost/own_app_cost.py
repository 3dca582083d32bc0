"""How long a newcomer waits: for one's own app on twelve servers, its images after a change, and the preset quick."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.core.errors import UserError
from tests.cost.harness_cost import Cost, interval_s, print_table

SERVERS, MOST_RUN_S, MOST_REBUILD_S = 12, 300, 3
QUICK_ROWS, MOST_QUICK_S = 16, 240


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


def quick_cost(argv: Sequence[str]) -> int:
    """`quick RUN quick=BEGIN_NS,END_NS`: print how long it took; status 1 where that is missed or a row unranked."""
    if len(argv) != 2:
        raise UserError("quick takes a run and an interval; see scripts/harness-cost.sh")
    rows = len(_ranks(Path(argv[0])))
    taken = interval_s(argv[1])[1] if rows == QUICK_ROWS else None
    words = f"wall, images there; {rows} of {QUICK_ROWS} rows ranked"
    return print_table([Cost("the preset quick", "s", MOST_QUICK_S, taken, words)])


def ranked_services(folder: Path) -> set[str]:
    """The services that have a rank in the run's tables."""
    return {service for service, _ in _ranks(folder)}


def _ranks(folder: Path) -> set[tuple[str, str]]:
    """Service and scenario of each row that has a rank."""
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    ranked = (line for line in lines if line.get("kind") == "service" and line.get("rank"))
    return {(line["service"], line.get("scenario", "")) for line in ranked}
