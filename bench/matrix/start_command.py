"""What a server was started with: its command, what can wait in it at once, and the same command elsewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

START = "/app/server/start"
"""The program of servers that have none of their own."""
WORKERS = ("--workers", "--processes")
THREADS = ("--threads", "--blocking-threads")
APPS = ("app:app", "server.drained:app", "app:create_app")
"""How the starts name the app."""
FACTORY = ("uvicorn", "granian")
"""Programs that take a function that makes the app with this flag; the others call it, given as `main:create_app()`."""
INSTANCE = ("daphne",)
"""Those that take no function at all."""
OF_THE_IMAGE = ("--config", "--binary-path")
"""Options that name a file of it: settings, and the interpreter that is started again."""


@dataclass(frozen=True, slots=True)
class Waits:
    """The requests that can wait at once in a service: `each` of so many workers has so many, None: every connection.

    `threads`: these are threads of a pool, whose number can be set.
    """

    workers: int
    each: int | None
    threads: bool = False

    @property
    def total(self) -> int | None:
        """Of all workers."""
        return None if self.each is None else self.workers * self.each


@dataclass(frozen=True, slots=True)
class StartCommand:
    """The arguments of the process that serves, and those variables of its environment that it may read."""

    argv: Sequence[str]
    environment: Mapping[str, str]

    @property
    def text(self) -> str:
        """As a shell takes it, in the container."""
        # A program in Python reads the knobs that others have in their arguments.
        environment = self.environment if START in self.argv else {}
        return " ".join([*(f"{key}={shlex.quote(own)}" for key, own in environment.items()), shlex.join(self._argv)])

    @property
    def _argv(self) -> list[str]:
        argv = [*self.argv]
        if len(argv) > 1 and "/bin/" in argv[1]:
            # Of a script, the interpreter that its first line names.
            argv = argv[1:]
        argv[0] = argv[0] if argv[0] == START else Path(argv[0]).name
        return argv

    def waits(self, default: str, *, concurrent: bool) -> Waits:
        """What can wait in it: `default` is its server's own, which a start without THREADS has.

        `concurrent`: whether one worker answers a second request while the first one waits.
        """
        program = START in self.argv
        workers = int(self._flag(WORKERS) or self.environment.get("WORKERS") or 1)
        threads = self._flag(THREADS) or (self.environment.get("THREADS") if program else None)
        if threads is None and program and (found := re.match(r"(\d+) threads?\b", default)):
            threads = found[1]
        if threads is not None:
            return Waits(workers, int(threads), threads=True)
        return Waits(workers, None if concurrent else 1)

    def _flag(self, names: Sequence[str]) -> str | None:
        pairs = zip(self.argv, [*self.argv[1:], ""], strict=True)
        return next((value for word, value in pairs if word in names and value.isdigit()), None)

    def elsewhere(self, app: str, template: str = "") -> str | None:
        """What starts `app`, MODULE:CALLABLE, so without this project's files; None where nothing does in one line.

        `template` is that of a server whose start is a program; its words may name what it reads.
        """
        target, called = app.removesuffix("()"), app.endswith("()")
        module, _, name = app.partition(":")
        program = (template or self._argv[0]).split()[0]
        if called and program in INSTANCE:
            return None
        if START in self.argv:
            known = {key.lower(): value for key, value in self.environment.items()}
            words = {"threads": "1", **known, "app": target, "module": module, "name": name}
            return template.format(**words, call="--call " if called else "") or None
        factory = called and program in FACTORY
        words_of_app = [*(["--factory"] if factory else []), target if factory else app]
        argv: list[str] = []
        for word in self._without_files():
            argv += words_of_app if word in APPS else [word]
        return shlex.join(argv)

    def _without_files(self) -> Iterator[str]:
        """What files of this project's image have beyond the arguments is said in words."""
        words = iter(self._argv)
        for word in words:
            if word in OF_THE_IMAGE:
                next(words, None)
            else:
                yield word


def in_lines(command: str, width: int) -> str:
    """A command broken between its words, as a shell continues lines, so that no line is wider if it can be."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and len(lines[-1]) + len(word) + 3 > width:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return " \\\n".join(lines)
