"""The contract's queries through Django's ORM; the raw store is that of `common.sync_backends`."""

from common import contract
from common.models import WorldRow
from django.db import transaction

from bench.models import Fortune, World


class OrmStore:
    """Django's ORM over psycopg2."""

    def worlds(self, count: int) -> list[WorldRow]:
        return [World.objects.get(id=world_id).row() for world_id in contract.world_ids(count)]

    def update_worlds(self, count: int) -> list[WorldRow]:
        # bulk_update() is one statement, which locks the rows in any order. So they are locked while reading, in id
        # order: requests may wait for each other, but cannot deadlock.
        locked = World.objects.select_for_update(no_key=True)
        with transaction.atomic():
            worlds = [locked.get(id=world_id) for world_id in sorted(contract.world_ids(count))]
            for world in worlds:
                world.random_number = contract.other_number(world.random_number)
            World.objects.bulk_update(worlds, ["random_number"])
        return [world.row() for world in worlds]

    def fortunes(self) -> list[tuple[int, str]]:
        return [(fortune.id, fortune.message) for fortune in Fortune.objects.all()]


orm = OrmStore()
