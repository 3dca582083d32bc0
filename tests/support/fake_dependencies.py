"""In-memory database and upstream of the fake service, with the interface for the verifier."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.contract.dependencies import Database, Mode, Statements, Upstream

_ODD = ("Ünïcode — dash", "A & B", '<script>alert("x");</script>', "フレームワークのベンチマーク")
FORTUNES = [*enumerate((*(f"fortune {n}" for n in range(1, 9)), *_ODD), 1)]
FORTUNES_TEMPLATE = Path(__file__).with_name("fortunes.txt").read_text()
ADDITIONAL = (0, "Additional fortune added at request time.")


class FakeDatabase(Database):
    """The tables World, Fortune and data, and their counters.

    AssertionError if the verifier reads data that others may change without holding the lock.
    """

    def __init__(self) -> None:
        self.random = random.Random(1)
        self.rows = {n: self.random.randint(1, 10_000) for n in range(1, 10_001)}
        self.data: list[int] = []  # the transaction of each row
        self.counted = [0, 0, 0]
        self.locks: list[bool] = []
        self.held: bool | None = None  # whether the held lock is exclusive; None: not held
        self.guard = threading.Lock()
        self.transactions = 0

    def select(self, row: int, rows: int = 1) -> int:
        with self.guard:
            self.counted[0] += 1
            self.counted[1] += rows
        return self.rows[row]

    def update(self, row: int, number: int) -> None:
        with self.guard:
            self.counted[2] += 1
            self.rows[row] = number

    def insert(self, count: int, one_by_one: bool = False) -> None:
        with self.guard:
            for _ in range(count):
                self.transactions += one_by_one
                self.data.append(self.transactions)
            self.transactions += 1

    def world(self) -> dict[int, int]:
        assert self.held is True
        return dict(self.rows)

    def fortunes(self) -> list[tuple[int, str]]:
        assert self.held is not None
        return FORTUNES

    def data_rows(self) -> int:
        assert self.held is True
        return len(self.data)

    def newest_data(self, count: int) -> int:
        assert self.held is True
        return len(set(self.data[-count:]))

    def statements(self) -> Statements:
        assert self.held is True
        return Statements(*self.counted)

    @contextmanager
    def lock(self, exclusive: bool) -> Iterator[None]:
        assert self.held is None
        self.locks.append(exclusive)
        self.held = exclusive
        try:
            yield
        finally:
            self.held = None


class FakeUpstream(Upstream):
    """The upstream and its control port."""

    def __init__(self) -> None:
        self.requests = 0
        self.mode: Mode = "ok"
        self.modes: list[Mode] = []

    def count(self) -> int:
        return self.requests

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode
        self.modes.append(mode)
