"""A response that takes long and is in flight when the service is stopped."""

from __future__ import annotations

from bench.load.client import Client, sleep_until
from bench.load.event import EventLoad, Loading

LONG_BEFORE_S, LONG_TIMEOUT_S = 0.5, 30.0


async def _long(loading: Loading, client: Client) -> None:
    # A user's own app has no such response.
    if loading.event.long_path and loading.event.actions:
        await sleep_until(loading.t0_ns + round((loading.event.actions[0].at_s - LONG_BEFORE_S) * 1e9))
        client.ask_once(client.asked.long_head, "long", LONG_TIMEOUT_S)


LOAD = EventLoad(also=_long)
