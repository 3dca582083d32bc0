"""The pace of a stream of events in an event loop; a module of its own, because sync apps do not import asyncio."""

import asyncio
import time
from collections.abc import AsyncIterator


async def paced(count: int, gap_ms: int) -> AsyncIterator[int]:
    """As contract.paced: the numbers of a stream's events, each when it is due."""
    first = time.monotonic()
    for number in range(count):
        if gap_ms and (wait := first + number * gap_ms / 1000 - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        yield number
