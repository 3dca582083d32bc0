"""The tables as SQLAlchemy's ORM maps them, and their rows as answers have them."""

from typing import TypedDict

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class WorldRow(TypedDict):
    """A row of World as its answer has it."""

    id: int
    randomNumber: int


class Base(DeclarativeBase):
    """The mapped classes' common base."""


class World(Base):
    """A numbered random number."""

    __tablename__ = "world"
    id: Mapped[int] = mapped_column(primary_key=True)
    random_number: Mapped[int] = mapped_column("randomnumber")

    def row(self) -> WorldRow:
        """The row as its answer has it."""
        return {"id": self.id, "randomNumber": self.random_number}


class Fortune(Base):
    """A numbered fortune cookie message."""

    __tablename__ = "fortune"
    id: Mapped[int] = mapped_column(primary_key=True)
    message: Mapped[str]
