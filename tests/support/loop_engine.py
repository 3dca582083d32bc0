"""A fake engine for the measuring loop: loads write the files that `make_loop` has made; the planner is real."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pretend_engine import NotingEngine

from bench.__main__ import main
from driver.docker import Done
from driver.engines.engine import Container
from driver.messages import Step
from driver.run import open_run
from driver.steps.measure import measure_and_choose
from driver.steps.next import next_step


class LoopEngine(NotingEngine):
    """`said`: exit status and last line of `prepare`, `run`, `run r01-0002`, `client 2`, `merge` or `next`.

    `ended_now`: dependencies that have ended.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(open_run("a-run", root))
        self.root = root
        self.said: dict[str, tuple[int, str]] = {}
        self.ended_now: tuple[str, ...] = ()

    def start(self, step: Step, loadgen: bool = False) -> dict[str, Container]:
        how = [*["loadgen"] * loadgen, *["any-cpu"] * step.any_cpu, *["host-network"] * step.host_network]
        self._note("start", *step.services, *how)
        for name in step.services:
            self.run.service_folder(name).mkdir(parents=True, exist_ok=True)
            said = f"Starting\nno such image: {name}\n" if name in self.broken else "Started\n"
            self.start_log(name).write_text(said)
        up = [name for name in step.services if name not in self.broken]
        return {name: Container(running=True, image_id=f"sha256:{name}", started_ns=2) for name in up}

    def restore(self) -> None:
        self._note("restore")

    def pin(self, services: Sequence[str]) -> None:
        self._note("pin", *services)

    def is_running(self, service: str) -> bool:
        return service not in self.dead

    def state_lines(self, service: str, container: Container | None = None) -> str:
        self._note("state", service)
        if service in ("postgres", "upstream"):
            return "null not counted in this test\n"
        return f"cpu_usage_ns 7\n{(container or Container(running=True)).lines()}"

    @contextmanager
    def freezer(self, services: Sequence[str]) -> Iterator[None]:
        self._note("freezer-opens", *services)
        yield
        self._note("freezer-closes")

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        assert log is not None
        self._note("exec", *words)
        verb, step = words[1], self._step()
        status, last = self.said.get(f"{verb} {step['id']}") or self.said.get(verb) or (0, "")
        self._load(verb, step, status, last)
        log.write_text(f"{last}\n" if last else "")
        return Done(status, last, "")

    def _load(self, verb: str, step: Mapping[str, Any], failed: int, last: str) -> None:
        """Writes the files of bench/load/verbs.py; skips services that have failed before."""
        services = self.run.folder / step["dir"] / "services"
        for name in step["services"]:
            file = services / f"{name}.status"
            if not file.exists() or file.read_text() == "0\n":
                own = failed if not step["held"] else 10 if name in self.silent | self.lost else 0
                file.write_text(f"{own}\n")
                words = "ready 3\nwarm 4\n" if verb == "prepare" and not own else ""
                with file.with_suffix(".txt").open("a") as said:
                    said.write(words + (f"{last}\n" if own else ""))
        if verb == "run" and not failed:
            for place in step["folders"]:
                if (self.root / "made" / place).exists():
                    shutil.copytree(self.root / "made" / place, self.run.folder / place, dirs_exist_ok=True)

    def check(self, step_failed: bool = False) -> None:
        self._note("check", *["failed"] * step_failed)

    def ended(self) -> tuple[str, ...]:
        return self.ended_now

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        self._note("bench", *words)
        if words[0] in self.said:
            status, last = self.said[words[0]]
            return Done(status, f"{last}\n", "")
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main(words)
        return Done(status, out.getvalue(), err.getvalue())

    def start_bench(self, *words: str) -> Callable[[str], Done]:
        self._note("start-bench")
        return lambda stdin: self.bench(*(stdin.strip() if word == "-" else word for word in words))

    def _step(self) -> Mapping[str, Any]:
        host: Mapping[str, Any] = json.loads((self.run.folder / "step.json").read_text())["host"]
        return host


def loop(engine: LoopEngine, max_time_s: str = "") -> int:
    """Runs the loop of scripts/measure.sh until nothing is left or the time is up; its last exit status."""
    asked: Any = engine
    status = next_step(asked, max_time_s)
    while not status:
        status = measure_and_choose(asked, max_time_s)
    return status


def metas(root: Path) -> dict[str, dict[str, Any]]:
    """meta.json of all complete measurements by folder below raw/, without hashes."""
    raw = root / "results/a-run/raw"
    found = {str(file.parent.relative_to(raw)): json.loads(file.read_text()) for file in sorted(raw.rglob("meta.json"))}
    for meta in found.values():
        meta.pop("sha256", None)
    return found


def outcomes(root: Path) -> list[tuple[str, str]]:
    """(outcome, detail) of each measurement, in the order of their folders."""
    return [(meta["outcome"], meta["detail"]) for meta in metas(root).values()]
