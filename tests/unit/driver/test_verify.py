"""Waiting for services, verifying and stopping them: in which order, how often, and which files are kept."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, refused
from pretend_engine import PretendEngine, made_run, pretend_docker

from driver.docker import INSPECTING, DockerError, Done
from driver.engines.engine import Container
from driver.failure import Failure
from driver.messages import OwnApp
from driver.services import ready, sockets, verify


def verified(engine: PretendEngine, jobs: int = 4, contract: bool = False) -> PretendEngine:
    verify.verify_services(engine, jobs, contract)
    return engine


STATUSES = [
    ({"a": [3], "c": [3, 3]}, ["a", "c"], ["c verification 3"]),  # too late, which may be the machine's fault
    ({"a": [126], "c": [126, 126]}, ["a", "c"], ["c verification 126"]),  # interrupted by the engine
    ({"a": [1], "b": [2]}, [], ["a verification 1", "b verification 2"]),
    ({"c": [137]}, [], ["c verification 137"]),
]


@pytest.mark.parametrize(("statuses", "again", "failures"), STATUSES)
def test_retried_alone(tmp_path: Path, statuses: dict[str, list[int]], again: list[str], failures: list[str]) -> None:
    engine = verified(PretendEngine(made_run(tmp_path, "a", "b", "c"), statuses))
    order = [line.split()[1] for line in engine.calls("verify")]
    assert sorted(order[:3]) == ["a", "b", "c"] and order[3:] == again
    assert sorted(engine.calls("service-failed")) == [f"service-failed a-run {line}" for line in failures]
    run = engine.run
    assert [name for name in "abc" if (run.service_folder(name) / "beside").exists()] == again
    assert [name for name in "abc" if run.failed(name)] == [line[0] for line in failures]
    for name in again:
        assert (run.service_folder(name) / "beside/verify.txt").read_text() == "1 check\n5 passed\n"


def test_what_is_late_alone_has_failed(tmp_path: Path) -> None:
    for run, jobs in ((made_run(tmp_path / "one", "a"), 4), (made_run(tmp_path / "two", "a", "b"), 1)):
        engine = verified(PretendEngine(run, {"a": [3]}), jobs)
        assert engine.calls("verify").count("verify a") == 1
        assert engine.calls("service-failed") == ["service-failed a-run a verification 3"]
        assert not (run.service_folder("a") / "beside").exists()
        assert (run.service_folder("a") / "state.txt").read_text() == "memory_bytes 7\n"


def test_a_run_verifies_once_with_what_figures_need(tmp_path: Path, capfd: Capture) -> None:
    engine = verified(PretendEngine(made_run(tmp_path, "a")))
    steps = ["provenance a", "start a", "state a", "state a", "verify a", "stop a", "revive", "revive"]
    assert engine.calls() == steps
    folder = engine.run.service_folder("a")
    assert (folder / "idle.txt").read_text() == "memory_bytes 7\n"
    assert (folder / "limits.txt").read_text() == "nofile 1024\n"
    assert not (folder / "answer.txt").exists()
    assert capfd.readouterr().err == "a: verified (5 passed)\n"
    verified(engine)
    assert engine.calls()[len(steps) :] == ["provenance a", "revive", "revive"]


def test_equal_sides_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    engine = PretendEngine(made_run(tmp_path, "a", "b"))
    monkeypatch.setattr(verify, "open_run", lambda name: engine.run)
    monkeypatch.setattr(verify, "engine_of", lambda run: engine)
    assert verify.main(["a-run"]) == 0 and engine.calls("equal-sides") == []
    services = {name: replace(one, settings="WORKERS=2") for name, one in engine.run.services.items()}
    engine.run = replace(engine.run, services=services)
    engine.said["equal-sides a-run"] = Done(0, "b: equal sides: WORKERS=2\n", "")
    assert verify.main(["a-run"]) == 0 and engine.calls()[-1] == "equal-sides a-run"
    assert capfd.readouterr().err.endswith("b: equal sides: WORKERS=2\n")


def test_what_a_killed_verifier_told_the_upstream_is_forgotten(tmp_path: Path, capfd: Capture) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    verify.forget_modes(engine)
    assert engine.calls() == []
    engine = PretendEngine(replace(engine.run, dependencies=("loadgen", "upstream")))
    verify.forget_modes(engine)
    assert engine.calls() == ["http://upstream:8081/mode/ok"] and not capfd.readouterr().err
    engine.said["http://upstream:8081/mode/ok"] = Done(7, "curl: (7) Failed to connect\n", "")
    verify.forget_modes(engine)
    assert "the upstream cannot be reset: curl: (7) Failed to connect" in capfd.readouterr().err


def test_contract_reads_sockets_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    monkeypatch.setattr(verify, "check_sockets", lambda engine, name: engine._note("sockets", name))
    monkeypatch.setattr(verify, "check_shutdown", lambda engine, name: engine._note("ends", name))
    monkeypatch.setattr(verify, "engine_of", lambda run: engine)
    monkeypatch.setattr(verify, "open_run", lambda name: engine.run)
    engine.said["summary a-run --quiet"] = Done(1, "services: 0 passed, 1 failed\n", "")
    assert verify.main(["a-run", "--contract", "--quiet"]) == 1
    assert engine.calls()[:5] == ["start a", "verify a", "sockets a", "ends a", "stop a"]
    assert capsys.readouterr().out == "services: 0 passed, 1 failed\n"


def test_killed_at_its_end_beside_others_is_retried_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = PretendEngine(made_run(tmp_path, "good", "slow"))
    monkeypatch.setattr(verify, "check_shutdown", lambda _, name: 137 if name == "slow" else 143)
    monkeypatch.setattr(sockets, "read_sockets", lambda run, container: f"{container}\n")
    verified(engine, 2, contract=True)
    assert Counter(engine.calls("verify")) == {"verify good": 1, "verify slow": 2}
    folder = engine.run.service_folder("slow")
    assert (folder / "beside/verify.json").exists() and (folder / "verify.json").exists()
    assert (folder / "sockets.json").read_text() == "bench-a-run-slow-1\n"


def test_what_does_not_start_or_gives_no_answer_has_failed(tmp_path: Path) -> None:
    engine = verified(PretendEngine(made_run(tmp_path, "a", "b", "c"), broken=["a"], silent=["b"]))
    failures = ["service-failed a-run a start", "service-failed a-run b answer 3"]
    assert sorted(engine.calls("service-failed")) == failures
    assert engine.calls("verify") == ["verify c"]
    assert sorted(engine.calls("stop")) == ["stop a", "stop b", "stop c"]
    assert (engine.run.service_folder("b") / "server.log").read_text() == "last words of b\n"
    verified(engine)
    assert len(engine.calls("start")) == 3


def test_what_the_network_lost_is_verified_once_more_and_then_has_failed(tmp_path: Path) -> None:
    engine = verified(PretendEngine(made_run(tmp_path, "a"), lost=["a"]), 1)
    steps = [line for line in engine.calls() if line.split()[0] not in ("provenance", "state", "revive")]
    assert steps == ["start a", "stop a", "start a", "service-failed a-run a answer 3", "stop a"]


def test_where_what_all_need_has_ended_those_that_failed_are_verified_again(tmp_path: Path) -> None:
    run = made_run(tmp_path, "early", "late", "good")
    (run.service_folder("early") / "failure.json").write_text("{}")
    engine = PretendEngine(run, {"late": [1]})
    engine.revived = [("postgres",)]
    verified(engine)
    assert Counter(engine.calls("verify")) == {"verify late": 2, "verify good": 1}
    assert engine.calls("verify")[-1] == "verify late"
    assert (run.service_folder("late") / "beside/failure.json").exists() and not run.failed("late")
    assert run.failed("early")


def test_where_it_ends_each_time_the_run_ends_with_that_cause_and_nothing_is_final(tmp_path: Path) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"), {"a": [1] * 9})
    engine.revived = [("postgres",)] * 4
    with pytest.raises(Failure, match=r"^postgres ended 3 times while services were verified$"):
        verified(engine)
    assert len(engine.calls("verify")) == 4 and not engine.run.failed("a")


def test_an_engine_that_fails_ends_the_run(tmp_path: Path) -> None:
    engine = PretendEngine(made_run(tmp_path, "a", "b"))
    engine.fails = {"provenance"}
    assert str(refused(DockerError, verified, engine)) == "no provenance"
    assert engine.calls("start", "revive") == []


def test_idle_memory_is_read_once_stable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Growing(PretendEngine):
        def state_lines(self, service: str, container: Container | None = None) -> str:
            return f"cpu_usage_ns 1\nmemory_bytes {memory.pop(0)}\n"

    monkeypatch.setattr(verify, "sleep", lambda seconds: None)
    memory = [1000, 1011, 1500, 1515, 9999]
    engine = Growing(made_run(tmp_path, "a"))
    verify.save_idle(engine, "a")
    idle = (engine.run.service_folder("a") / "idle.txt").read_text()
    assert idle == "cpu_usage_ns 1\nmemory_bytes 1515\n" and memory == [9999]


def test_what_the_folder_of_an_own_app_has_of_its_memory_is_saved_beside_it(tmp_path: Path) -> None:
    class Own(PretendEngine):
        def in_service(self, service: str, words: Sequence[str]) -> Done:
            assert words[-1] == verify.FOLDER
            return Done(0, "folder_bytes 4096\n", "")

    engine = Own(made_run(tmp_path, "a", own_app=OwnApp("main:app")))
    verify.save_idle(engine, "a")
    assert (engine.run.service_folder("a") / "idle.txt").read_text() == "memory_bytes 7\nfolder_bytes 4096\n"
    shown = subprocess.run(["sh", "-c", verify.FOLDER.replace("/srv/app", "/proc")], capture_output=True, check=True)
    assert shown.stdout == b"folder_bytes 0\n"


def test_two_services_on_a_core_where_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "PROC", tmp_path)
    monkeypatch.setattr(verify.os, "sched_getaffinity", lambda _: range(4))
    for memory, jobs in ((2**20 - 1, 1), (3 * 2**20 + 5, 3), (99 * 2**20, 8)):
        (tmp_path / "meminfo").write_text(f"MemTotal:  999 kB\nMemAvailable:   {memory} kB\n")
        assert verify.jobs_at_a_time() == jobs


class Slow(PretendEngine):
    """A service that accepts connections and never answers; each try takes its whole timeout."""

    now, left = 0.0, 99

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, **options: Any) -> Done:
        assert words[:2] == ["sh", "-c"] and words[3] == "http://a:8080/" and log
        self._note("waits", words[4])
        Slow.now += float(words[4])
        log.write_text("Connection refused\n")
        self.left -= 1
        return Done(0 if self.left <= 0 else 1, "", "")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    Slow.now = 0.0
    monkeypatch.setattr(ready, "monotonic", lambda: Slow.now)


@pytest.mark.usefixtures("clock")
def test_a_service_that_takes_connections_and_answers_none_is_given_up_in_time(tmp_path: Path) -> None:
    run = made_run(tmp_path, "a")
    engine = Slow(run)
    assert not ready.await_answer(engine, "a") and engine.calls() == ["waits 3"]
    run.settings["READY_TIMEOUT"] = "12"  # type: ignore[index]
    assert not ready.await_answer(engine, "a") and engine.calls()[1:] == ["waits 6", "waits 6"]
    assert (run.service_folder("a") / "answer.txt").read_text() == "Connection refused\n"
    run.settings["READY_TIMEOUT"] = "0x10"  # type: ignore[index]
    with pytest.raises(Failure, match="READY_TIMEOUT='0x10' is not a number of seconds"):
        ready.await_answer(engine, "a")


@pytest.mark.usefixtures("clock")
def test_an_answer_ends_the_waiting_and_so_does_the_end_of_the_container(tmp_path: Path) -> None:
    engine = Slow(made_run(tmp_path, "a"))
    engine.left = 1
    assert ready.await_answer(engine, "a")
    assert not (engine.run.service_folder("a") / "answer.txt").exists()
    ended = Slow(engine.run, silent=["loadgen"])
    assert not ready.await_answer(ended, "a") and engine.calls() == ["waits 3", "waits 3"]


ENDS = [
    ([143], [], 1),
    ([0], [], 1),
    ([137, 1, 143, 0], [], 3),
    ([137, 137, 137, 0], [], 3),
    ([137, 0], ["a"], 1),  # it no longer answers
]


@pytest.mark.parametrize(("statuses", "silent", "tries"), ENDS)
def test_one_that_does_not_end_by_itself_has_three_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: list[int], silent: list[str], tries: int
) -> None:
    (tmp_path / "statuses").write_text("".join(f"{status}\n" for status in statuses))
    take = f"[[ $1 != inspect ]] || {{ head -n1 {tmp_path}/statuses && sed -i 1d {tmp_path}/statuses; }}"
    calls = pretend_docker(tmp_path, monkeypatch, take)
    monkeypatch.setattr(verify, "sleep", lambda seconds: None)
    clock = iter(range(100, 200, 10))
    monkeypatch.setattr(verify, "monotonic_ns", lambda: next(clock))
    engine = PretendEngine(made_run(tmp_path, "a"), silent=silent)
    assert verify.check_shutdown(engine, "a") == statuses[tries - 1]
    each = ("stop --time 10", "inspect --format {{.State.ExitCode}}")
    assert calls.read_text().splitlines() == [f"{words} bench-a-run-a-1" for words in each] * tries
    stop = json.loads((engine.run.service_folder("a") / "stop.json").read_text())
    times = {"begin_ns": 80 + 20 * tries, "end_ns": 90 + 20 * tries}
    assert stop == {"exit_status": statuses[tries - 1], "tries": tries} | times
    assert engine.calls()[-1] == "stop a"


READER = (
    "run --rm --label bench.run=bench-a-run --pid container:bench-a-run-a-1 --network container:bench-a-run-a-1 "
    f"{' '.join(INSPECTING)} --volume {{}}:/bench:ro --workdir /bench bench/loadgen python3 -m bench sockets"
)


def kept(engine: PretendEngine) -> str:
    sockets.check_sockets(engine, "a")
    return (engine.run.service_folder("a") / "sockets.json").read_text()


def test_reader_joins_the_namespaces_with_one_capability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = pretend_docker(tmp_path, monkeypatch, """echo '{"options": {}}'""")
    assert kept(PretendEngine(made_run(tmp_path, "a"))) == '{"options": {}}\n'
    assert calls.read_text() == READER.format(tmp_path) + "\n"


def test_refusal_of_the_engine_is_valid_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "printf 'before\\ndocker: \"--pid\" is not \\\\allowed\\033[0m\\n' >&2; exit 125"
    pretend_docker(tmp_path, monkeypatch, script)
    reason = json.loads(kept(PretendEngine(made_run(tmp_path, "a"))))["unreadable"]
    assert reason == 'no container can look into the service: docker: "--pid" is not \\allowed\033[0m'


def test_own_binds_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    script = f"""case $* in
*:/own:ro*) : >{tmp_path}/fresh ;;
*'bench sockets') rm {tmp_path}/fresh 2>/dev/null && echo '{{"fault": "none"}}' || echo '{{"options": 1}}' ;;
esac"""
    calls = pretend_docker(tmp_path, monkeypatch, script)
    engine = PretendEngine(made_run(tmp_path, "waitress-x", "hypercorn-x"))
    starts = "waitress\twaitress-x\twaitress-serve hello:app\nhypercorn\thypercorn-x\thypercorn hello:app\n"
    engine.said["own-binds waitress hypercorn"] = Done(0, starts, "")
    engine.said["own-binds-read"] = Done(0, "the table\n", "")
    monkeypatch.setattr(sockets, "open_run", lambda name: engine.run)
    monkeypatch.setattr(sockets, "engine_of", lambda run: engine)
    monkeypatch.setattr(sockets, "sleep", lambda seconds: None)
    sockets.main(["a-run", "waitress", "hypercorn"])
    assert (engine.run.folder / "own-binds.tsv").read_text() == 'waitress\t{"options": 1}\nhypercorn\t{"options": 1}\n'
    assert (engine.run.folder / "listeners.toml").read_text() == "the table\n"
    begun, first, second, gone = [line for line in calls.read_text().splitlines() if "own-waitress" in line]
    assert " --network none --init --read-only --cap-drop ALL " in begun
    assert begun.endswith(" --workdir /tmp bench/waitress-x sh -c exec waitress-serve hello:app")
    assert first == second == READER.format(tmp_path).replace("a-run-a-1", "a-run-own-waitress")
    assert gone == "rm --force --volumes bench-a-run-own-waitress"
    assert capsys.readouterr().err == "waitress\nhypercorn\n"
