"""The common rate of a table's services: a share of the slowest service's speed.

`bench.schedule.common_rate` decides it once, after the first round. It is stored in the run's folder, so that all
rounds and a resumed run use the same one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from msgspec import Meta

from bench.core.typed import read_or_none
from bench.plan.measurement import Measurement
from bench.tools.levels import Level, LoadKey

SCHEMA = 1
UNDECIDED = "its common rate follows from the speeds of the first round, which is not complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonRates:
    """The decision for a table: `rates` in requests/s by level, or the `reason` why there are none.

    - `speeds`: those of the first round, in requests/s; the rates follow from that of `slowest`.
    - `client_most`: the highest rate requested from the open-loop tool `client`; levels in `capped` are limited to it.
    - `knees`: for levels that are a share of a knee, the service with the lowest knee.
    - `left_out`: services that are not loaded, with the reason.
    """

    client: str
    client_most: float | None = None
    speeds: Mapping[str, Annotated[float, Meta(gt=0)]] = field(default_factory=dict)
    slowest: str | None = None
    rates: Mapping[str, Annotated[int, Meta(gt=0)]] = field(default_factory=dict)
    capped: tuple[str, ...] = ()
    knees: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None

    def of(self, level: Level, service: str) -> int | str:
        """The rate of a service at a level, or the reason why it has none."""
        if reason := self.left_out.get(service) or self.reason:
            return reason
        return self.rates.get(level.text) or f"no common rate was decided for {level}"

    def text(self) -> str:
        """The content of its file."""
        return json.dumps({"schema": SCHEMA} | asdict(self), ensure_ascii=False, indent=1) + "\n"


def path_of(table: LoadKey) -> str:
    """The file for a table, relative to the run's folder."""
    scenario, tool, level = table
    return f"raw/common-rates/{scenario}/{tool}-{level}.json"


def common_rates(facts: Mapping[str, Any] | None) -> CommonRates | None:
    """Parse the content of such a file; None if it is missing or invalid."""
    return read_or_none(CommonRates, facts) if facts and facts.get("schema") == SCHEMA else None


def at_common_rate(planned: Measurement, facts: Mapping[str, Any] | None) -> tuple[Measurement, str]:
    """(the measurement with its common rate, "") or (the measurement, why it has no rate).

    Measurements that do not use a common rate are returned unchanged.
    """
    if planned.share_of is None:
        return planned, ""
    found = common_rates(facts)
    rate = found.of(planned.level, planned.service) if found else UNDECIDED
    return (planned, rate) if isinstance(rate, str) else (replace(planned, rate=rate), "")
