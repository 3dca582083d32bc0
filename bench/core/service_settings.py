"""The settings of a service: what --vary and --flags give it, and if two refs are compared, its ref."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench.core.typed import TextValue, read_text

_QUOTED = re.compile(r"[\s'\"\\]")
"""Values with such a character would not be one word."""


class Settings(TextValue, Mapping[str, str]):
    """Values by knob, in the order of the command line. As text: `REF=sync WORKERS=2 FLAGS='--http h11'`."""

    def __init__(self, values: Mapping[str, str] | Iterable[tuple[str, str]] = (), text: str | None = None) -> None:
        self._values = dict(values)
        quoted = ((name, shlex.quote(one) if _QUOTED.search(one) else one) for name, one in self._values.items())
        super().__init__(text=" ".join(f"{name}={one}" for name, one in quoted) if text is None else text)

    @staticmethod
    def parse(text: str) -> Settings:
        """The settings in a text, which is kept as it is."""
        try:
            words = shlex.split(text)
        except ValueError:
            # A foreign or earlier run, where values were not quoted.
            words = text.split()
        pairs = (word.partition("=") for word in words)
        return Settings(((name, value) for name, mark, value in pairs if mark), text)

    @staticmethod
    def read(value: Any) -> Settings:
        """The settings of a file, where null stands for none."""
        return Settings.parse("" if value is None else read_text(value))

    @property
    def json(self) -> str | None:
        """Null stands for none."""
        return self.text or None

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


NO_SETTINGS = Settings()
