"""The tables, mapped by SQLAlchemy's ORM, and their rows in responses."""

from typing import TypedDict

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class WorldRow(TypedDict):
    """A row of World in a response."""

    id: int
    randomNumber: int


class Base(DeclarativeBase):
    """Base of the mapped classes."""


class World(Base):
    """An id and a random number."""

    __tablename__ = "world"
    id: Mapped[int] = mapped_column(primary_key=True)
    random_number: Mapped[int] = mapped_column("randomnumber")

    def row(self) -> WorldRow:
        """The row for a response."""
        return {"id": self.id, "randomNumber": self.random_number}


class Fortune(Base):
    """An id and a fortune cookie message."""

    __tablename__ = "fortune"
    id: Mapped[int] = mapped_column(primary_key=True)
    message: Mapped[str]
