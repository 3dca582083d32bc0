"""The engine of a run on this machine and the shared dependencies, with a fake docker."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest
from captured import Capture, refused
from docker_calls import Docker, step_with
from places import ROOT
from tables import cases

from driver import counters
from driver.docker import DockerError, Done, time_ns
from driver.engines import engine as engines
from driver.engines import local
from driver.engines.engine import Container, End, Engine
from driver.engines.local import LocalDocker
from driver.engines.of_run import engine_of
from driver.failure import Failure
from driver.messages import EventScript
from driver.run import Run
from driver.services import running
from driver.services.running import save_running

FRESH = "up --detach --no-deps --no-build --force-recreate --timeout 0"
COMPOSE = "compose --project-name p"
READY = "exec p-postgres-1 /usr/local/bin/ready"


@pytest.fixture
def engine(run: Run, docker: Docker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LocalDocker:
    """An engine for which everything exists."""
    monkeypatch.setattr(local, "WAIT_S", 0.1e-6)
    readings = {
        "online-cpus": lambda *_: "0-3",
        "counters": lambda pid, why: f"null {why}\n" if why else f"counters of {pid}\n",
    }
    for what, reading in readings.items():
        monkeypatch.setitem(counters.READINGS, what, reading)
    monkeypatch.setattr(counters, "below_root", lambda pid: f"/docker/id-{pid}" if pid else "/not-found")
    monkeypatch.setattr(counters, "unreadable", lambda *_: "")
    for number, name in enumerate(("a", "b", "loadgen", "postgres", "upstream"), 1):
        docker.runs(f"p-{name}-1", pid=number)
    return LocalDocker(run)


def changes(docker: Docker) -> list[str]:
    return [call for call in docker.calls if not call.startswith("inspect")]


def test_services_in_turns_start_together_and_are_pinned(engine: LocalDocker, docker: Docker) -> None:
    folder = engine.run.folder
    started = engine.start(step_with("a", "b", held=True), loadgen=True)
    engine.pin(["a", "b"])
    engine.stop(["a", "b"])
    compose = f"compose --project-name p --file {folder}/compose.yml --file {folder}/block.yml"
    assert changes(docker) == [
        f"{compose} {FRESH} a b loadgen",
        "update --cpuset-cpus 0 p-a-1 p-b-1",
        "rm --force --volumes p-a-1 p-b-1",
    ]
    assert (list(started), started["b"].image_id) == (["a", "b"], "sha256:b")
    assert started["a"].started_ns == 1767225600_500000000
    cpus = {"cpuset": "0-3"}
    assert json.loads((folder / "block.yml").read_text()) == {"services": {"a": cpus, "b": cpus}}
    pids = {"a": 1, "b": 2, "postgres": 4, "upstream": 5}
    found = json.loads((folder / "containers.json").read_text())
    assert found == {name: [f"/docker/id-{pid}"] for name, pid in pids.items()}
    docker.runs("p-upstream-1", pid=0, running=False)
    engine.know_dependencies()
    engine.save_cgroups(["a"])
    assert "upstream" not in (folder / "containers.json").read_text(), "there is nothing to read"


def test_service_that_cannot_start_does_not_stop_the_others(engine: LocalDocker, docker: Docker) -> None:
    docker.does(f"{FRESH} ", lambda call: Done(int("b" in call.split(FRESH)[1].split()), f"said of {call[-1]}\n", ""))
    del docker.containers["p-b-1"]
    assert engine.start(step_with("a", "b", held=True), loadgen=True).keys() == {"a"}
    assert [call.split("--timeout 0 ")[1] for call in docker.asked(FRESH)] == ["a b loadgen", "loadgen", "a", "b"]
    assert [engine.start_log(name).read_text() for name in ("a", "b")] == ["said of a\n", "said of b\n"]
    assert '"b"' not in (engine.run.folder / "containers.json").read_text(), "there is nothing to read"


def test_alone_one_is_tried_once(engine: LocalDocker, docker: Docker) -> None:
    assert engine.start(step_with("a"), loadgen=True).keys() == {"a"}
    assert [call.split("compose.yml ")[1] for call in docker.asked("compose --project-name")] == [f"{FRESH} a loadgen"]
    docker.says(FRESH, status=1)
    docker.calls.clear()
    assert engine.start(step_with("a")) == {} and len(docker.calls) == 1
    assert not (engine.run.folder / "containers.json").exists()


def test_target_is_loaded_from_the_host_network_with_the_same_rights(engine: LocalDocker, docker: Docker) -> None:
    assert engine.start(step_with("there"), loadgen=True).keys() == {"there"}
    assert engine.state_lines("there") == "null no counters: not a container of this project\n"
    assert engine.look(["there"]) == {"there": Container(running=True)}
    engine.in_loadgen(["measure"])
    engine.stop(["there"])
    engine.in_loadgen(["measure"])
    assert [call.split()[0] for call in docker.calls] == ["rm", "run", "exec", "rm", "exec"]
    assert [call.split()[1] for call in docker.asked("measure")] == ["p-loadgen-host-1", "p-loadgen-1"]
    for option in (
        *("--network host", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--pids-limit 4096"),
        *("--memory 2g", "--ulimit nofile=1024", "--cpuset-cpus 1", f"--volume {engine.run.root}:/bench:ro", "--init"),
        "--label com.docker.compose.project=p",
        f"--user {os.getuid()}:{os.getgid()}",
    ):
        assert f" {option} " in docker.calls[1]
    limits = (ROOT / "services/common.yml").read_text().split("\n  loadgen:")[1]
    assert "mem_limit: 2g\n" in limits and "pids_limit: 4096\n" in limits
    assert not any(word in docker.calls[1] for word in ("privileged", "docker.sock", "publish", "--add-host"))
    assert not docker.asked("p-there")


def test_beside_a_service_it_knows_the_containers_address(engine: LocalDocker, docker: Docker) -> None:
    beside = step_with("a", "there", held=True, host_network=True)
    assert list(engine.start(beside, loadgen=True)) == ["a", "there"]
    assert docker.asked("run --detach", " --network host --add-host a:198.18.0.9 --init ")
    assert "there" not in (engine.run.folder / "containers.json").read_text()
    docker.says("run --detach", "no such image\n", status=1)
    assert engine.start(beside, loadgen=True) == {}
    with pytest.raises(DockerError, match="does not start in the host's network: no such image"):
        engine.on_host_network().__enter__()


def test_where_no_service_beside_a_target_starts_the_target_is_loaded(engine: LocalDocker, docker: Docker) -> None:
    docker.says(FRESH, status=1)
    assert engine.start(step_with("a", "there", held=True, host_network=True), loadgen=True).keys() == {"there"}
    assert not docker.asked("--add-host")


def test_states_are_those_that_docker_and_the_kernel_tell(engine: LocalDocker, docker: Docker) -> None:
    engine.start(step_with("a"), loadgen=True)
    docker.runs("p-a-1", pid=0, running=False, killed=True)
    ended = "running false\noom_killed true\nrestarts 0\n"
    assert engine.state_lines("a") == f"counters of 1\n{ended}"
    assert engine.state_lines("a", Container(running=True)).endswith("running true\noom_killed false\nrestarts 0\n")
    assert engine.state_lines("postgres") == "counters of 4\n"
    assert (engine.is_running("a"), engine.is_running("loadgen")) == (False, True)
    del docker.containers["p-a-1"]
    assert engine.look(["a", "loadgen"]).keys() == {"loadgen"}
    assert engine.state_lines("a") == "counters of 1\n"


def test_unreadable_cgroups_are_null(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "unreadable", lambda container, pid: f"of {container}, {pid}")
    engine.start(step_with("a", held=True), loadgen=True)
    assert engine.state_lines("postgres") == "null of id-loadgen, 3\n"
    assert (engine.run.folder / "containers.json").read_text().count("/not-found") == 3


def test_engine_without_cpusets(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_ENGINE_KIND", "rootless no-cpuset")
    engine.pin(["a"])
    monkeypatch.setenv("BENCH_ENGINE_KIND", "docker")
    engine.pin(["there"])
    assert docker.calls == []
    docker.says("update", "no such CPU", status=1)
    assert "no such CPU" in str(refused(DockerError, engine.pin, ["a"]))


def test_restarting_engine_is_awaited(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "AWAY_S", 0)

    def away(_: str) -> Done:
        return Done(int(len(docker.asked("version")) < 3), "", "")

    docker.does("version", away)
    docker.does("inspect", lambda call: away(call) if away(call).status else docker.inspect(call))
    assert engine.is_running("postgres")
    assert [call.split()[0] for call in docker.calls] == [*["inspect", "version"] * 3, "inspect"]


class Far(LocalDocker):
    """An engine whose services run on another machine than the load generator."""

    def context_of(self, service: str) -> str:
        return "" if service == "loadgen" else "far"


def test_on_two_machines_each_engine_is_asked_for_what_it_has(engine: LocalDocker, docker: Docker) -> None:
    docker.says("--context far inspect", status=1)
    assert list(Far(engine.run).look(["a", "loadgen", "b"])) == ["loadgen"]
    assert len(docker.asked("inspect")) == 2  # another machine's engine is not waited for
    assert not docker.asked("version")
    Far(engine.run).stop(["a", "b"])
    assert docker.calls[-1] == "--context far rm --force --volumes p-a-1 p-b-1"


def test_bench_runs_in_the_load_generator_or_in_a_new_container(engine: LocalDocker, docker: Docker) -> None:
    assert engine.bench("retry", "r", stdin=b"words").status == 0
    assert docker.calls[-1] == "exec --interactive p-loadgen-1 python3 -m bench retry r"
    assert docker.stdins[-1] == b"words"

    def kill(_: str) -> Done:
        docker.runs("p-loadgen-1", running=False)
        return Done(137, "", "")

    docker.does("exec --interactive p-loadgen-1", kill)
    assert engine.bench("next", "r").status == 137  # the loop begins it again
    assert len(docker.asked("run --rm")) == 0
    docker.runs("p-loadgen-1")
    assert engine.bench("retry", "r").status == 0
    assert docker.asked("run --rm", "bench/loadgen python3 -m bench retry r")
    assert engine.bench("next", "r").status == 0


def test_where_the_planner_is_started(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "start_docker", lambda *words: lambda stdin: Done(0, " ".join(words), stdin))
    started = Done(0, "exec --interactive p-loadgen-1 python3 -m bench next r", "7\n")
    assert engine.start_bench("next", "r")("7\n") == started
    docker.runs("p-loadgen-1", running=False)
    words = engine.start_bench("next", "r")("").out
    assert words.startswith("run --rm --interactive ") and words.endswith(" bench/loadgen python3 -m bench next r")


def test_the_last_words_of_a_container_and_its_limits(engine: LocalDocker, docker: Docker) -> None:
    docker.says("logs --tail 50 p-a-1", "last words\n")
    docker.says("exec p-a-1", "nofile 1\n")
    assert (engine.log("a"), engine.log("there"), engine.limits("a")) == ("last words\n", "", "nofile 1\n")
    docker.says("exec p-a-1", "nofile 1\n", status=137)
    assert engine.limits("a") == "nofile 1\nnull the container ended\n"


def test_running_processes_are_saved_unless_too_large(engine: LocalDocker, docker: Docker) -> None:
    found = engine.run.service_folder("a") / "running.json"
    services = {**engine.run.services, "b": replace(engine.run.services["b"], settings="")}
    engine.run = replace(engine.run, services=services)
    save_running(engine, "b")
    assert not docker.calls
    docker.says("exec p-a-1", "{}\n")
    save_running(engine, "a")
    assert docker.calls[-1].startswith("exec p-a-1 python3 -I -S -c ") and docker.calls[-1].endswith(" A B")
    assert found.read_text() == "{}\n"
    found.unlink()
    docker.says("exec p-a-1", "{}\n", status=137)
    save_running(engine, "a")
    docker.says("exec p-a-1", "x" * (running.MOST_BYTES + 1))
    save_running(engine, "a")
    save_running(Engine(engine.run), "a")
    assert not found.exists()


def test_a_daemon_that_has_ended_is_named(engine: LocalDocker, docker: Docker) -> None:
    engine.check(step_failed=True)
    docker.says("version", status=1)
    engine.check()
    with pytest.raises(Failure, match="the Docker daemon does not answer any more"):
        engine.check(step_failed=True)


TIMES = [
    ("1970-01-01T00:00:02.123456789Z", 2_123456789),
    ("1970-01-01 01:00:02.5 +0100 CET", 2_500000000),
    ("1970-01-01T00:00:02+00:00", 2_000000000),
    ("<no value>", None),
]


@pytest.mark.parametrize(("text", "expected"), TIMES)
def test_times_of_engines(text: str, expected: int | None) -> None:
    assert time_ns(text) == expected


def test_which_engine(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(engine_of(run)) is LocalDocker
    monkeypatch.setenv("BENCH_ENGINE", "composed")
    assert type(engine_of(replace(run, lane=2))) is Engine


def test_where_compose_has_started_all_there_is_nothing_but_the_reason(run: Run) -> None:
    engine = Engine(run)
    assert list(engine.start(step_with("a", "b"))) == ["a", "b"]
    reason = "no Docker socket is mounted: the counters of other containers cannot be read"
    assert engine.state_lines("a") == f"null {reason}\n"
    done = engine.in_loadgen(["sh", "-c", "echo here; exit 3"], log=run.folder / "log")
    assert (done.status, (run.folder / "log").read_text()) == (3, "here\n")


def test_a_run_of_compose_waits_until_the_database_takes_connections(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "POLL_S", 0.01)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        monkeypatch.setattr(engines, "DATABASE", listener.getsockname())
        later = Timer(0.1, listener.listen)
        later.start()
        Engine(run).start_dependencies()
        assert not later.is_alive()
    monkeypatch.setattr(engines, "DATABASE_S", 0.05)
    with pytest.raises(Failure, match=r"the database does not answer .*: docker-compose logs postgres"):
        Engine(run).start_dependencies()


TAKEN = {
    "": ["198.18.0.0/24", "10.1.4.0/24", "198.18.0.0/99"],
    "other": ["10.1.0.64/26", "10.1.0.0/16"],
    "bridge": ["172.17.9.0/24"],
    "bridge, other": ["0.0.0.0/0"],
}


@pytest.mark.parametrize(("subnet", "taken"), cases(TAKEN))
def test_subnet_taken_by_an_overlapping_network(run: Run, docker: Docker, subnet: str, taken: str) -> None:
    docker.says("network ls", "host\nbridge\n")
    bridge = [{"Subnet": "fd00::/64"}, {"Subnet": "172.17.0.0/16"}]
    found = [{"Name": "host", "IPAM": {"Config": None}}, {"Name": "bridge", "Labels": {}, "IPAM": {"Config": bridge}}]
    docker.says("network inspect host bridge", json.dumps([*found, *json.loads(networks(other="10.1.0.0/25"))[::2]]))
    assert local.subnet_taken(replace(run, settings={"BENCH_SUBNET": subnet})) == taken


def networks(**others: str) -> str:
    labels = {"p_bench": {"com.docker.compose.project": "p"}}
    made = {"p_bench": "198.18.0.0/24", "bridge": "fd00::/64", **others}
    nets = {name: {"Config": [{"Subnet": net}]} for name, net in made.items()}
    return json.dumps([{"Name": name, "Labels": labels.get(name), "IPAM": net} for name, net in nets.items()])


def test_they_have_started_once_the_database_has_rows_and_all_are_there(engine: LocalDocker, docker: Docker) -> None:
    docker.does(READY, lambda _: Done(int(len(docker.asked(READY)) < 15), "", ""))
    engine.start_dependencies()
    (call,) = docker.asked(COMPOSE)
    assert call.endswith("compose.yml up --detach --no-build loadgen postgres upstream")
    assert len(docker.asked(READY)) == 15


def test_one_that_was_killed_as_it_started_has_another_try(engine: LocalDocker, docker: Docker) -> None:
    docker.runs("p-postgres-1", running=False)
    docker.does(READY, lambda _: Done(int(len(docker.asked(COMPOSE)) < 2), "", ""))
    engine.start_dependencies()
    assert len(docker.asked(COMPOSE)) == 2


def test_a_database_without_rows_ends_the_run_with_its_last_words(engine: LocalDocker, docker: Docker) -> None:
    docker.says(READY, status=1)
    docker.says("logs", "first\nout of memory\n")
    with pytest.raises(Failure, match=r"the database has no rows after .* s: out of memory"):
        engine.start_dependencies()


def test_a_user_s_own_database_is_not_waited_for_here(engine: LocalDocker, docker: Docker) -> None:
    docker.says(READY, status=1)
    docker.runs("p-own-postgres-1")
    LocalDocker(replace(engine.run, dependencies=("loadgen", "own-postgres"))).start_dependencies()
    assert not docker.asked(READY)


def test_what_does_not_start_says_why(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[bool] = []
    monkeypatch.setattr("driver.engines.dead_runs.remove_dead_runs", lambda: not removed.append(True))
    docker.says("network ls", "p_bench\nbridge\nother\n")
    docker.says("network inspect p_bench bridge other", networks(other="198.18.1.0/24"))
    docker.says(COMPOSE, "no such image\n", status=1)
    failure = refused(Failure, engine.start_dependencies)
    assert "load generator does not start: no such image" in failure.words
    assert (failure.status, removed) == (1, [])
    docker.says("network inspect", networks(other="198.18.0.0/16", gone="10.0.0.0/8"), status=1)
    failure = refused(Failure, engine.start_dependencies)
    assert "the subnet 198.18.0.0/24 is in use by Docker's network other (another run" in failure.words
    assert (failure.status, len(removed)) == (2, 1)
    # It starts once the leftovers of a dead run are removed.
    docker.does(COMPOSE, lambda _: Done(int(len(removed) < 2), "", ""))
    engine.start_dependencies()


def test_what_has_ended_is_started_again_and_said(engine: LocalDocker, docker: Docker, capsys: Capture) -> None:
    assert engine.revive() == () and not docker.asked(COMPOSE)
    docker.runs("p-postgres-1", running=False)
    del docker.containers["p-upstream-1"]
    assert engine.ended() == ("postgres",)

    def up(_: str) -> Done:
        docker.runs("p-postgres-1", "p-upstream-1", pid=8)
        return Done(0, "", "")

    docker.does(COMPOSE, up)
    assert engine.revive() == ("postgres",)
    assert capsys.readouterr().err == "postgres ended during the run: started again\n"
    assert (engine.ended(), engine.pid_of("postgres")) == ((), 8)


def test_the_database_is_restored_or_a_new_one(engine: LocalDocker, docker: Docker) -> None:
    engine.restore()
    assert docker.asked("exec p-postgres-1 /usr/local/bin/restore") and not docker.asked(COMPOSE)
    docker.says("exec p-postgres-1 /usr/local/bin/restore", status=1)
    engine.restore()
    assert docker.asked(COMPOSE)[0].endswith("--force-recreate --timeout 0 postgres")
    without = replace(engine.run, dependencies=("loadgen", "own-postgres"))
    docker.calls.clear()
    LocalDocker(without).restore()
    assert not docker.calls


def test_an_event_gives_a_service_what_it_needs_but_never_what_varies(engine: LocalDocker, docker: Docker) -> None:
    engine.start(step_with("a", events={"a": EventScript(environment={"A": "9", "BOOT_S": "2"})}), loadgen=True)
    given = {"services": {"a": {"cpuset": "0-3", "environment": {"BOOT_S": "2"}}}}
    assert json.loads((engine.run.folder / "block.yml").read_text()) == given
    assert docker.asked("compose", "block.yml")
    docker.calls.clear()
    engine.start(step_with("a"), loadgen=True)
    assert not docker.asked("block.yml")


def test_another_container_of_a_service_is_as_the_service_is(engine: LocalDocker, docker: Docker) -> None:
    docker.runs("p-a-copy-2-1", pid=8)
    events = {"a": EventScript(environment={"A": "9"}), "a-copy-2": EventScript(environment={"A": "9", "BOOT_S": "2"})}
    step = step_with("a", "a-copy-2", events=events, copies={"a-copy-2": "a"})
    assert list(engine.start(step, loadgen=True)) == ["a", "a-copy-2"]
    folder = engine.run.folder
    first = {"cpuset": "0-3", "environment": {}}
    extends = {"file": f"{folder}/compose.yml", "service": "a"}
    copy = {"extends": extends, "cpuset": "0-3", "environment": {"BOOT_S": "2"}}
    assert json.loads((folder / "block.yml").read_text()) == {"services": {"a": first, "a-copy-2": copy}}
    engine.stop(["a", "a-copy-2"])
    assert docker.calls[-1] == "rm --force --volumes p-a-1 p-a-copy-2-1"


def test_open_descriptors_are_counted(engine: LocalDocker, docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "all_pids", lambda _: (1, 7, 9))
    docker.says("/fd", "0\n1\n2\n0\n1\n")
    assert engine.descriptors("a") == 5 and docker.calls[-1].endswith("sh 1 7 9")
    docker.says("/fd", "0\n1\nunreadable\n")
    assert engine.descriptors("a") is None
    monkeypatch.setattr(local, "all_pids", lambda _: ())
    assert engine.descriptors("a") is None


def test_signal_is_sent_from_inside_the_container_or_fails(engine: LocalDocker, docker: Docker) -> None:
    docker.says("; kill", "1764000000123456789")
    assert engine.signal("a", "HUP", 7) == 1764000000123456789
    assert docker.calls == ['exec p-a-1 sh -c date +%s%N; kill "$@" sh -HUP 7']
    docker.says("; kill", "1764000000%N")
    assert engine.signal("a", "HUP", 7) is None
    docker.says("; kill", "sh: kill: (7) - No such process", 1)
    assert "No such process" in str(refused(DockerError, engine.signal, "a", "HUP", 7))
    docker.says("; kill", "1764000000123456789", 137)
    assert engine.signal("a", "TERM", 1) == 1764000000123456789
    docker.says("; kill", "", 137)
    assert "SIGTERM was not sent" in str(refused(DockerError, engine.signal, "a", "TERM", 1))


def test_no_events_where_processes_cannot_be_seen(engine: LocalDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.cannot_act == "" and Engine(engine.run).cannot_act
    monkeypatch.setattr(counters, "unreadable", lambda *_: "elsewhere")
    assert LocalDocker(engine.run).cannot_act == "elsewhere: its processes cannot be seen"


def test_second_container_and_their_fixed_addresses(engine: LocalDocker, docker: Docker) -> None:
    docker.runs("p-a-2", "p-b-2", pid=8)
    engine.start(step_with("a", "b", events={"a": EventScript(environment={"BOOT_S": "2"})}), loadgen=True)
    docker.calls.clear()
    engine.double("a")
    engine.double("b")
    folder = engine.run.folder
    compose = f"compose --project-name p --file {folder}/compose.yml --file {folder}/block.yml"
    up = "up --detach --no-deps --no-build --no-recreate --scale"
    assert changes(docker)[:5] == [
        f"{compose} {up} a=2 a",
        "network disconnect p_bench p-a-1",
        "network connect --ip 198.18.0.129 --alias a p_bench p-a-1",
        "network disconnect p_bench p-a-2",
        "network connect --ip 198.18.0.130 --alias a p_bench p-a-2",
    ]
    assert [call.split()[3] for call in docker.asked("--alias b")] == ["198.18.0.131", "198.18.0.132"]
    docker.calls.clear()
    engine.pin(["a", "b"])
    engine.stop(["a", "b"])
    of_second = [f"{verb} p-{name}-2" for verb in ("update --cpuset-cpus 0", "rm --force") for name in "ab"]
    assert [call for call in changes(docker) if "-2" in call] == of_second


def test_a_second_container_that_does_not_start_says_why(engine: LocalDocker, docker: Docker) -> None:
    docker.says("--scale", "no room", 1)
    with pytest.raises(DockerError, match="a second container does not start: no room"):
        engine.double("a")
    # Neither takes an address of the next service or CPU time beside it.
    assert changes(docker)[-1] == "rm --force --volumes p-a-1 p-a-2"


def test_a_subnet_that_is_too_small_for_second_containers_is_said(engine: LocalDocker, docker: Docker) -> None:
    docker.runs("p-a-2", pid=8)
    engine.run.settings["BENCH_SUBNET"] = "198.18.0.0/30"  # type: ignore[index]
    assert "198.18.0.0/30 has too few addresses" in str(refused(DockerError, engine.double, "a"))


def test_container_is_stopped_and_started_with_a_new_pid(engine: LocalDocker, docker: Docker) -> None:
    docker.says("FinishedAt", "2026-01-01T00:00:00.5Z|137\n")
    assert engine.stop_container("a", 2, 10.0, False) == End(1767225600_500000000, 137)
    assert docker.calls[0] == "stop -t 10 p-a-2" and engine.pid_of("a") == 0
    engine.start_container("a", 1)
    again = engine.container_facts("a", 1)
    assert (engine.pid_of("a"), again.pid, again.address) == (1, 1, "198.18.0.9:8080")
    assert "container 2 of a is gone" in str(refused(DockerError, engine.container_facts, "a", 2))


def test_every_process_of_a_container_gets_one_sigterm(engine: LocalDocker, docker: Docker) -> None:
    docker.says("; kill", "1767225600400000000")
    docker.says("FinishedAt", "2026-01-01T00:00:00.5Z|0\n")
    assert engine.stop_container("a", 1, 90.0, True) == End(1767225600_500000000, 0, 1767225600_400000000)
    assert docker.calls[:2] == [
        'exec p-a-1 sh -c date +%s%N; kill "$@" sh -TERM 1 -1',
        "stop -t 90 --signal CONT p-a-1",
    ]
