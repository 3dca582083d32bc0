"""A fake for the driver's calls of docker: records each call and gives configured answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from driver import docker as module
from driver.docker import DockerError, Done
from driver.messages import Service, Step
from driver.run import Run

Answer = Callable[[str], Done]


class Docker:
    """`calls`, `envs`, `stdins`: command line, environment and input of each call. `containers`: state by name.

    Of several answers that match a call, the latest one applies.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.envs: list[Mapping[str, str] | None] = []
        self.stdins: list[Any] = []
        self.containers: dict[str, dict[str, Any]] = {}
        self._answers: list[tuple[str, Answer]] = [("inspect --format {{index", self.inspect)]

    def says(self, part: str, out: str = "", status: int = 0) -> None:
        """From now on, commands that contain `part` have this output and status."""
        self.does(part, lambda _: Done(status, out, ""))

    def does(self, part: str, answer: Answer) -> None:
        """From now on, commands that contain `part` call `answer`."""
        self._answers.append((part, answer))

    def runs(self, *names: str, **how: Any) -> None:
        """From now on, these containers exist."""
        self.containers.update(dict.fromkeys(names, how))

    def asked(self, *parts: str) -> list[str]:
        """The calls that contain all of these parts."""
        return [call for call in self.calls if all(part in call for part in parts)]

    def __call__(self, argv: Sequence[str], *, check: bool = True, log: Path | None = None, **options: Any) -> Done:
        call = " ".join(argv[1:])
        self.calls.append(call)
        self.envs.append(options.get("env"))
        self.stdins.append(options.get("stdin"))
        done = next((answer(call) for part, answer in reversed(self._answers) if part in call), Done(0, "", ""))
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(done.out)
        if check and done.status:
            raise DockerError(done.last_line)
        return done

    def inspect(self, call: str) -> Done:
        """Answers `docker inspect` of containers."""
        names = call.split("{{end}} ")[1].split()
        found = [line_of(name, **self.containers[name]) for name in names if name in self.containers]
        return Done(int(len(found) < len(names)), "".join(found), "")


def line_of(name: str, *, pid: int = 7, running: bool = True, killed: bool = False) -> str:
    """The driver's facts about a container of project `p`, as a line of `docker inspect`."""
    service = name.removeprefix("p-").removesuffix("-1")
    words = {True: "true", False: "false"}
    facts = (service, words[running], words[killed], 0, f"id-{service}", f"sha256:{service}", pid)
    return "|".join(map(str, (*facts, "2026-01-01T00:00:00.5Z", "198.18.0.9"))) + "\n"


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Docker:
    """Replaces every command of the driver."""
    fake = Docker()
    monkeypatch.setattr(module, "run", fake)
    monkeypatch.setenv("BENCH_DOCKER", "docker")
    monkeypatch.setenv("BENCH_ENGINE_KIND", "docker")
    return fake


SETTINGS = {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1", "NOFILE": "1024", "BENCH_SUBNET": "198.18.0.0/24"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with services a and b, and a target named there."""
    services = {name: Service(image=f"bench/{name}", base_image="base", settings="A=1 B=2") for name in ("a", "b")}
    services["there"] = Service(url="http://127.0.0.1:8000")
    return Run(tmp_path, "r", "p", SETTINGS, services)


def step_with(*services: str, **facts: Any) -> Step:
    """A step of these services."""
    return Step("s", "s", services, (), **facts)
