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
        # In the order of their ids: requests may wait for each other, but cannot deadlock.
        with transaction.atomic():
            worlds = [World.objects.get(id=world_id) for world_id in sorted(contract.world_ids(count))]
            for world in worlds:
                world.random_number = contract.other_number(world.random_number)
                world.save(update_fields=["random_number"])
        return [world.row() for world in worlds]

    def fortunes(self) -> list[tuple[int, str]]:
        return [(fortune.id, fortune.message) for fortune in Fortune.objects.all()]


orm = OrmStore()
