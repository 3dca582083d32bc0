"""The tables as Django's ORM maps them."""

from common.models import WorldRow
from django.db import models


class World(models.Model):
    """An id and a random number."""

    id = models.IntegerField(primary_key=True)
    random_number = models.IntegerField(db_column="randomnumber")

    class Meta:
        managed = False
        db_table = "world"

    def row(self) -> WorldRow:
        """The row as it appears in a response."""
        return {"id": self.id, "randomNumber": self.random_number}


class Fortune(models.Model):
    """An id and a fortune cookie message."""

    id = models.IntegerField(primary_key=True)
    message = models.CharField(max_length=2048)

    class Meta:
        managed = False
        db_table = "fortune"
