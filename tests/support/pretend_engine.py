"""Fake engines for everything that happens to services before their load, and a fake docker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driver.docker import DockerError, Done
from driver.engines.engine import Container, Engine
from driver.messages import OwnApp, Service, Step
from driver.run import Run


def made_run(
    root: Path, *services: str, own_app: OwnApp | None = None, targets: Sequence[str] = (), **more: Any
) -> Run:
    """A run of these services, and of `targets`."""
    known = {
        name: Service(image=f"bench/{name}", base_image="python:3.13-slim", framework="flask", routes=("json",))
        for name in services
    }
    known |= {name: Service(url="http://127.0.0.1:8000") for name in targets}
    own = ("own-redis",) if own_app else ()
    settings = {"READY_TIMEOUT": "3"}
    run = Run(root, "a-run", "bench-a-run", settings, known, own_app, ("loadgen", *own), **more)
    for name in known:
        run.service_folder(name).mkdir(parents=True)
    return run


def pretend_docker(folder: Path, monkeypatch: Any, script: str = "") -> Path:
    """Installs a fake docker that runs `script` at each call; returns the file with its calls, one per line."""
    calls, docker = folder / "docker.calls", folder / "docker"
    docker.write_text(f'#!/usr/bin/env bash\nprintf "%s\\n" "${{*//$\'\\n\'/ }}" >>{calls}\n{script}\n')
    docker.chmod(0o755)
    calls.touch()
    monkeypatch.setenv("BENCH_DOCKER", str(docker))
    return calls


class NotingEngine(Engine):
    """Records its calls in a file, because several processes may call it in parallel.

    `broken` services do not start, `dead` ones have ended, `silent` ones give no answer, and `lost` ones answer only on
    their own machine. `when`: a function to run at a call; `fails`: calls that raise DockerError.
    """

    def __init__(self, run: Run, **services: Iterable[str]) -> None:
        super().__init__(run)
        kinds = (set(services.get(what, ())) for what in ("broken", "dead", "silent", "lost"))
        self.broken, self.dead, self.silent, self.lost = kinds
        self.fails: set[str] = set()
        self.when: dict[str, Callable[[], object]] = {}

    def calls(self, *first: str) -> list[str]:
        """The recorded calls, or only those that begin with one of these words."""
        file = self.run.root / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in lines if not first or line.split()[0] in first]

    def _note(self, what: str, *words: str) -> None:
        with (self.run.root / "calls").open("a") as file:
            file.write(" ".join((what, *words)) + "\n")
        self.when.get(what, lambda: None)()
        if what in self.fails:
            raise DockerError(f"no {what}")

    def look(self, services: Sequence[str]) -> Mapping[str, Container]:
        self._note("look", *services)
        return {name: Container(name not in self.dead) for name in services if name not in self.lost}

    def limits(self, service: str) -> str:
        return "nofile 1024\n"

    def stop(self, services: Sequence[str]) -> None:
        self._note("stop", *services)

    def answers_at_home(self, service: str) -> bool:
        return service in self.lost

    def log(self, service: str) -> str:
        return f"last words of {service}\n"


class PretendEngine(NotingEngine):
    """Everything that happens before a load.

    `verifier`: exit statuses of a service's first verifications; later ones give 0. `revived`: dependencies that have
    ended, for each call of `revive`. `said`: results of the verbs of `bench`.
    """

    def __init__(
        self, run: Run, verifier: Mapping[str, Sequence[int]] | None = None, **services: Iterable[str]
    ) -> None:
        super().__init__(run, **services)
        self.verifier = verifier or {}
        self.revived: list[tuple[str, ...]] = []
        self.said: dict[str, Done] = {}

    def start(self, step: Step, loadgen: bool = False) -> dict[str, Container]:
        (service,) = step.services
        self._note("start", service)
        if service in self.broken:
            raise DockerError("no such image")
        return {service: Container(running=True, started_ns=5)}

    def usage(self, service: str) -> tuple[int | None, int | None]:
        return None, None

    def oom_kills(self, service: str) -> int | None:
        return None

    def save_provenance(self, service: str) -> None:
        self._note("provenance", service)

    def start_dependencies(self) -> None:
        self._note("dependencies")

    def revive(self) -> tuple[str, ...]:
        self._note("revive")
        return self.revived.pop(0) if self.revived else ()

    def is_running(self, service: str) -> bool:
        return service not in self.silent | self.lost

    def state_lines(self, service: str, container: Container | None = None) -> str:
        self._note("state", service)
        return "memory_bytes 7\n"

    @contextmanager
    def on_host_network(self) -> Iterator[None]:
        self._note("host-network begins")
        yield
        self._note("host-network ends")

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        done = self._verified(words) if words[3] == "verify" else self._answered(words)
        if log:
            log.parent.mkdir(exist_ok=True)
            log.write_text(done.out)
        return done

    def _answered(self, words: Sequence[str]) -> Done:
        if words[0] == "sh":
            service = words[3].removeprefix("http://").partition(":")[0]
            return Done(1, "", "") if not self.is_running(service) else Done(0, "", "")
        self._note(*words[3:])
        return self.said.get(" ".join(words[3:]), Done(0, "", ""))

    def _verified(self, words: Sequence[str]) -> Done:
        service = words[words.index("--service") + 1]
        before = len([line for line in self.calls("verify") if line == f"verify {service}"])
        self._note("verify", service)
        folder = self.run.service_folder(service)
        assert words[-2:] == ["--failure", f"results/a-run/raw/services/{service}/failure.json"]
        (folder / "verify.json").write_text("{}")
        statuses = list(self.verifier.get(service, ()))
        status = statuses[before] if before < len(statuses) else 0
        # A verifier that was killed by the engine (126) writes no failure.
        if status not in (0, 126):
            (folder / "failure.json").write_text("{}")
        return Done(status, "1 check\n5 passed\n", "")

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        self._note(*words)
        if words[0] == "service-failed":
            (self.run.service_folder(words[2]) / "failure.json").write_text(
                json.dumps({"detail": f"{words[3]} failed"})
            )
            return Done(0, f"{words[2]}: {words[3]} failed\n", "")
        return self.said.get(" ".join(words), Done(0, "", ""))
