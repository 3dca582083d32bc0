"""A run has only one writer, and nothing of it keeps running however it ends.

Locks, signals and kills are real, containers are fake.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loop_runs import FACTS
from places import ROOT
from pretend_engine import pretend_docker
from waiting import HANGS_S, until

from driver.files import save_json
from driver.messages import RUN_JSON

GOES_ON = "what is measured is kept in results/a-run; scripts/matrix.sh --resume a-run continues it"
LOOP = """
for name in a b; do
    { $DOCKER exec "$name" load; echo "$name ended with $?" >>failures; } &
done
wait
"""
"""Two loads at once, which hang; each would note how it ended."""
HANGS = '[[ "$*" != *" load" ]] || { : >"$0.$2"; exec sleep 60; }\n'


class Holder:
    """The project of a test, and calls of `driver hold` in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.run = root, root / "results/a-run"
        self.writer = self.run / ".writer"
        self.process: subprocess.Popen[str] | None = None

    def hold(self, *options: str, command: str = LOOP, **environment: str) -> subprocess.Popen[str]:
        """Start it as the leader of a process group, like a shell does."""
        argv = [sys.executable, "-m", "driver", "hold", "a-run", *options, "--", "bash", "-c", command]
        env = {**os.environ, "DOCKER": f"{sys.executable} {self.root / 'docker.py'}", **environment}
        self.process = subprocess.Popen(
            argv, cwd=self.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        )
        return self.process

    def held(self, *options: str, command: str = "exit 0", **environment: str) -> tuple[int, str]:
        """The exit status and the output."""
        process = self.hold(*options, command=command, **environment)
        _, said = process.communicate(timeout=HANGS_S)
        return process.returncode, said

    def writers(self) -> list[int]:
        """All processes that have the lock open."""
        found = []
        for place in Path("/proc").glob("[0-9]*/fd/9"):
            try:
                found += [int(place.parts[2])] if place.samefile(self.writer) else []
            except OSError:
                continue
        return found

    def until_loading(self) -> None:
        until(lambda: all((self.root / f"docker.{name}").exists() for name in "ab"))

    def downs(self) -> int:
        """How often its containers were removed."""
        calls = (self.root / "docker.calls").read_text()
        return len(re.findall("^compose --project-name bench-a-run .* down ", calls, re.MULTILINE))

    def commands(self) -> list[int]:
        """The commands that the holder has started, and its guard."""
        assert self.process
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
        return sorted(map(int, lines), key=lambda pid: b"hold" in lines[str(pid)])


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holder]:
    run = tmp_path / "results/a-run"
    run.mkdir(parents=True)
    save_json(run / RUN_JSON, {"schema": 1, "services": {"a": FACTS}})
    (run / "plan.jsonl").write_text("{}\n")
    (run / "compose.yml").write_text("services: {}\n")
    (run / "knobs.env").write_text("SERVER_CPUS=0-1\n")
    pretend_docker(tmp_path, monkeypatch, HANGS)
    # As the driver calls the Docker client: in its own session, and without leftovers when the call ends.
    (tmp_path / "docker.py").write_text(
        "import sys\nfrom driver.docker import docker\nfrom driver.failure import Interrupted, heed_signals\n"
        "heed_signals()\ntry:\n    sys.exit(docker(*sys.argv[1:], check=False).status)\n"
        "except Interrupted:\n    sys.exit(130)\n"
    )
    for name, value in {"BENCH_ROOT": tmp_path, "BENCH_PROJECT": "bench-a-run", "PYTHONPATH": ROOT}.items():
        monkeypatch.setenv(name, str(value))
    for name in ("BENCH_QUIET", "BENCH_HELD", "BENCH_NOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BENCH_ENGINE_KIND", "docker")
    monkeypatch.setenv("BENCH_SCRIPT", "matrix.sh")
    found = Holder(tmp_path)
    yield found
    for pid in found.writers():
        os.kill(pid, signal.SIGKILL)


def test_what_is_started_knows_the_run_and_its_status_is_the_holders(holder: Holder) -> None:
    names = "BENCH_HELD BENCH_PROJECT BENCH_NOTE SERVER_CPUS BENCH_USER"
    status, said = holder.held(command=f"for name in {names}; do echo ${{!name}} >&2; done; exit 7")
    told = [str(holder.run), "bench-a-run", GOES_ON, "0-1", f"{os.getuid()}:{os.getgid()}"]
    assert (status, said.splitlines()) == (7, told)
    assert (holder.downs(), holder.writers()) == (1, [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_of_it_and_how_to_go_on_is_said(holder: Holder, number: signal.Signals) -> None:
    process = holder.hold()
    holder.until_loading()
    os.killpg(process.pid, number)
    assert process.communicate(timeout=HANGS_S)[1] == f"interrupted; {GOES_ON}\n"
    assert (process.returncode, holder.writers(), holder.downs()) == (130, [], 1)
    # The loads end because of the interruption, which is not a failure of a service.
    assert not (holder.root / "failures").exists()


def test_who_was_told_to_ignore_a_hangup_does(holder: Holder) -> None:
    waits = "until [[ -e ended ]]; do sleep 0.05; done"
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "driver", "hold", "a-run", "--", "bash", "-c", waits],
        cwd=holder.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: len(holder.writers()) >= 3)
    os.kill(process.pid, signal.SIGHUP)
    time.sleep(0.1)
    assert process.poll() is None
    (holder.root / "ended").touch()
    assert process.wait(timeout=HANGS_S) == 0


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_guard_removes_a_killed_run(holder: Holder, kill: Callable[[int, int], None]) -> None:
    process = holder.hold()
    holder.until_loading()
    assert len(holder.writers()) >= 7
    kill(process.pid, signal.SIGKILL)
    until(lambda: not holder.writers())
    assert holder.downs() == 1 and not (holder.root / "failures").exists()
    assert holder.held() == (0, "")


def test_where_what_measures_is_killed_its_holder_ends_the_rest_with_its_status(holder: Holder) -> None:
    process = holder.hold()
    holder.until_loading()
    os.kill(holder.commands()[0], signal.SIGKILL)
    assert process.communicate(timeout=HANGS_S)[1] == ""
    assert (process.returncode, holder.writers(), holder.downs()) == (137, [], 1)


def test_where_the_guard_is_killed_too_the_next_call_ends_what_is_left(holder: Holder) -> None:
    process = holder.hold()
    holder.until_loading()
    for pid in (holder.commands()[1], process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    assert holder.writers()
    words = f"waiting for the children of process {process.pid} to end, which measured a-run and was killed\n"
    assert holder.held() == (0, words)
    assert not holder.writers() and not (holder.root / "failures").exists()


def test_a_second_writer_is_refused_and_names_the_first(holder: Holder) -> None:
    first = holder.hold()
    holder.until_loading()
    status, said = holder.held()
    since = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    by = rf"process {first.pid}: wait for it, or end it \(kill {first.pid}\)"
    words = rf"matrix.sh: a-run is being measured since {since} by {by}\n"
    assert status == 2 and re.fullmatch(words, said), said
    assert first.poll() is None and holder.downs() == 0
    first.terminate()
    assert first.wait(timeout=HANGS_S) == 130


def test_one_in_a_container_is_named_by_that_and_starts_no_containers_itself(holder: Holder) -> None:
    first = holder.hold(BENCH_ENGINE="composed", command="echo $BENCH_NOTE >&2; sleep 60")
    until(lambda: len(holder.writers()) >= 3)
    status, said = holder.held()
    by = f"by docker-compose up bench (container {os.uname().nodename})"
    assert status == 2 and said.endswith(f"{by}: wait for it, or end it (docker-compose down)\n")
    first.terminate()
    kept = "what is measured is kept in results/a-run"
    assert first.communicate(timeout=HANGS_S)[1] == f"{kept}\ninterrupted; {kept}\n"
    assert (holder.root / "docker.calls").read_text() == ""


def test_a_closed_terminal_ends_it(holder: Holder) -> None:
    child, screen = pty.fork()
    if not child:
        os.environ["DOCKER"] = f"{sys.executable} {holder.root / 'docker.py'}"
        os.chdir(holder.root)
        os.execvp(sys.executable, [sys.executable, "-m", "driver", "hold", "a-run", "--", "bash", "-c", LOOP])
    holder.until_loading()
    os.close(screen)
    os.waitpid(child, 0)
    until(lambda: not holder.writers())
    assert holder.downs() == 1


def test_a_run_that_goes_on_loses_first_what_is_left_of_it(holder: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """case $* in
        ps*label=com.docker.compose.project=bench-a-run) grep -q ' down ' "$0.calls" || echo 1a ;;
        ps*label=bench.run=bench-a-run) printf '2b\\n3c\\n' ;;
        esac"""
    calls = pretend_docker(holder.root, monkeypatch, script)
    assert holder.held("--resume") == (0, "")
    done = [line for line in calls.read_text().splitlines() if line.startswith(("compose", "rm"))]
    assert [" ".join(line.split()[:3]) for line in done] == [
        "compose --project-name bench-a-run",
        "rm --force 2b",
        "compose --project-name bench-a-run",
    ]


def test_resolved_compose_file_is_saved_or_the_run_fails(holder: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    (holder.run / "compose.yml").unlink()
    (holder.root / ".env").touch()
    pretend_docker(holder.root, monkeypatch, '[[ "$*" != *" config "* ]] || echo "services: {a: {}}"')
    assert holder.held(command="cat results/a-run/compose.yml >&2") == (0, "services: {a: {}}\n")
    (holder.run / "compose.yml").unlink()
    pretend_docker(holder.root, monkeypatch, '[[ "$*" != *" config "* ]] || { echo "no such service: a" >&2; exit 1; }')
    assert holder.held() == (1, "matrix.sh: no such service: a\n") and not holder.writers()


def test_what_is_no_run_is_refused(holder: Holder) -> None:
    (holder.run / RUN_JSON).unlink()
    assert holder.held()[0] == 2
