"""The command that started a server, how many requests can wait in it, and the same command without this project."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

START = "/app/server/start"
"""The program of servers that have no command of their own."""
WORKERS = ("--workers", "--processes")
THREADS = ("--threads", "--blocking-threads")
APPS = ("app:app", "server.drained:app", "app:create_app")
"""How our start scripts name the app."""
FACTORY = ("uvicorn", "granian")
"""Programs that need --factory to call a function that makes the app; others take `main:create_app()`."""
INSTANCE = ("daphne",)
"""Programs that cannot call such a function."""
NUMBER = re.compile(r"\d{1,9}", re.ASCII)
OF_THE_IMAGE = ("--config", "--binary-path")
"""Options whose value is a file of our image."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How many requests can wait at once in a service: `each` per worker; None: one for every connection.

    `threads`: `each` is the size of a thread pool, which can be set.
    """

    workers: int
    each: int | None
    threads: bool = False

    @property
    def total(self) -> int | None:
        """How many requests can wait in all workers; None: one for every connection."""
        return None if self.each is None else self.workers * self.each


@dataclass(frozen=True, slots=True)
class StartCommand:
    """The arguments of the server's process, and the environment variables that it may read."""

    argv: Sequence[str]
    environment: Mapping[str, str]

    @property
    def text(self) -> str:
        """The command as a shell in the container would take it."""
        # Our own programs read knobs from the environment; other servers get them as arguments.
        environment = self.environment if START in self.argv else {}
        return " ".join([*(f"{key}={shlex.quote(own)}" for key, own in environment.items()), shlex.join(self._argv)])

    @property
    def _argv(self) -> list[str]:
        argv = [*self.argv]
        if len(argv) > 1 and "/bin/" in argv[1]:
            # A script: drop the interpreter from its first line.
            argv = argv[1:]
        argv[0] = argv[0] if argv[0] == START else Path(argv[0]).name
        return argv

    def waits(self, default: str, *, concurrent: bool) -> Waits:
        """How many requests can wait in it; `default` describes the server's own default, used without THREADS.

        `concurrent`: whether one worker can answer a second request while the first one waits.
        """
        program = START in self.argv
        workers = int(self._flag(WORKERS) or self._number("WORKERS") or 1)
        threads = self._flag(THREADS) or (self._number("THREADS") if program else None)
        if threads is None and program and (found := re.match(r"(\d+) threads?\b", default)):
            threads = found[1]
        if threads is not None:
            return Waits(workers, int(threads), threads=True)
        return Waits(workers, None if concurrent else 1)

    def _number(self, name: str) -> str | None:
        found = self.environment.get(name, "")
        return found if NUMBER.fullmatch(found) else None

    def _flag(self, names: Sequence[str]) -> str | None:
        pairs = zip(self.argv, [*self.argv[1:], ""], strict=True)
        return next((value for word, value in pairs if word in names and NUMBER.fullmatch(value)), None)

    def elsewhere(self, app: str, template: str = "") -> str | None:
        """The command that starts `app` (MODULE:CALLABLE) without this project's files; None if no one-liner can.

        `template`: the command of a server whose start is a program of ours, with placeholders for its knobs.
        """
        target, called = app.removesuffix("()"), app.endswith("()")
        module, _, name = app.partition(":")
        program = (template or self._argv[0]).split()[0]
        if called and program in INSTANCE:
            return None
        if START in self.argv:
            known = {key.lower(): value for key, value in self.environment.items()}
            words = {"threads": "1", **known, "app": target, "module": module, "name": name}
            words["call"] = "--call " if called else ""
            return re.sub(r"\{(\w+)\}", lambda part: words.get(part[1], part[0]), template) or None
        factory = called and program in FACTORY
        words_of_app = [*(["--factory"] if factory else []), target if factory else app]
        argv: list[str] = []
        for word in self._without_files():
            argv += words_of_app if word in APPS else [word]
        return shlex.join(argv)

    def _without_files(self) -> Iterator[str]:
        """The arguments without options that name files of our image."""
        words = iter(self._argv)
        for word in words:
            if word in OF_THE_IMAGE:
                next(words, None)
            else:
                yield word


def in_lines(command: str, width: int) -> str:
    """A command wrapped between its words with backslashes, so that lines stay within `width` if possible."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and len(lines[-1]) + len(word) + 3 > width:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return " \\\n".join(lines)
