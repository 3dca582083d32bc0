"""The contract's queries through Django's ORM; the raw store is that of `common.async_backends`.

The ORM's async methods switch to a thread for each query and do not support transactions, so each of these is a
synchronous function, as Django's documentation recommends ("Asynchronous support").
"""

from asgiref.sync import sync_to_async
from common import contract
from common.models import WorldRow
from django.db import transaction

from bench.models import Fortune, World


@sync_to_async
def read_worlds(count: int) -> list[WorldRow]:
    return [World.objects.get(id=world_id).row() for world_id in contract.world_ids(count)]


@sync_to_async
def update_worlds(count: int) -> list[WorldRow]:
    # In the order of their ids: requests may wait for each other, but cannot deadlock.
    with transaction.atomic():
        worlds = [World.objects.get(id=world_id) for world_id in sorted(contract.world_ids(count))]
        for world in worlds:
            world.random_number = contract.other_number(world.random_number)
            world.save(update_fields=["random_number"])
    return [world.row() for world in worlds]


@sync_to_async
def read_fortunes() -> list[tuple[int, str]]:
    return [(fortune.id, fortune.message) for fortune in Fortune.objects.all()]


class OrmStore:
    """Django's ORM over psycopg 3."""

    async def worlds(self, count: int) -> list[WorldRow]:
        return await read_worlds(count)

    async def update_worlds(self, count: int) -> list[WorldRow]:
        return await update_worlds(count)

    async def fortunes(self) -> list[tuple[int, str]]:
        return await read_fortunes()


orm = OrmStore()
