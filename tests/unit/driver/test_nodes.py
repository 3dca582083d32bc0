"""A run on several machines: calls to each engine, files that are fetched, and messages about lost nodes."""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from captured import Capture, refused
from docker_calls import step_with
from pretend_engine import made_run, pretend_docker
from tables import cases

from driver import counters
from driver.engines.nodes import Nodes
from driver.failure import RUN, Failure
from driver.messages import STEP, Step, as_json
from driver.nodes import loadgen, setup
from driver.nodes.loadgen import in_far_loadgen
from driver.nodes.node import Lane, Node, save_nodes
from driver.parallel import together
from driver.run import Run
from driver.steps import wave as waves

KIND = "2 CPUs, 4.0 GiB, linux/x86_64"


def pair(number: int) -> list[Node]:
    return [
        Node("server", f"node-{number}", f"ctx-{number}", f"198.18.64.{number}", KIND),
        Node("loadgen", f"load-{number}", f"lctx-{number}", f"198.18.64.1{number}", KIND),
        Node("support", "data", "sctx", "198.18.64.20", KIND),
    ]


def write_step(run: Run, **planned: Any) -> None:
    run.lane_folder.mkdir(parents=True, exist_ok=True)
    step = Step(f"step-{run.lane}", "raw/r01/a", services=("a",), folders=("raw/r01/a/w",))
    message = {"schema": 1, "host": as_json(step), "planned": [planned]}
    (run.lane_folder / STEP).write_text(json.dumps(message))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with three lanes, each with a step."""
    run = made_run(tmp_path, "a", "b")
    subnets = ("198.18.0.0/25", "198.18.0.128/26", "198.18.0.192/26")
    save_nodes(run.folder, pair(1))
    setup.save_lanes(run, [Lane(subnet, str(n), tuple(pair(n))) for n, subnet in enumerate(subnets, 1)])
    for number in (1, 2, 3):
        write_step(run.on_lane(number))
    return run


@pytest.fixture
def wave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let its steps find the shared dependencies."""
    monkeypatch.setattr(Nodes, "know_dependencies", lambda _: True)


def measure(run: Run, monkeypatch: pytest.MonkeyPatch, lost: int = 0) -> None:
    """Measure a wave, in which the node of one lane is lost."""

    def step(engine: Nodes) -> None:
        if engine.run.lane == lost:
            raise Failure(RUN, f"node {engine.nodes['server'].name} (server) is lost")
        subnet, context = engine.run.setting("BENCH_SUBNET"), engine.context_of("loadgen")
        words = (engine.run.project, engine.nodes["server"].name, context, subnet)
        (engine.run.lane_folder / "seen").write_text(" ".join(words))

    monkeypatch.setattr(waves, "measure_step", step)
    waves.measure_wave(run)


def seen(run: Run) -> list[str]:
    """The engines of the lanes whose steps finished: project, server node, context and subnet."""
    return sorted(path.read_text() for path in run.folder.rglob("seen"))


@pytest.mark.usefixtures("wave")
def test_each_lane_has_its_own_project_nodes_and_subnet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (run.on_lane(3).lane_folder / STEP).unlink()
    measure(run, monkeypatch)
    second = "bench-a-run-lane2 node-2 lctx-2 198.18.0.128/26"
    assert seen(run) == ["bench-a-run node-1 lctx-1 198.18.0.0/25", second]


@pytest.mark.usefixtures("wave")
def test_failed_lane_ends_the_run_after_the_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Failure, match=r"^node node-2 \(server\) is lost$"):
        measure(run, monkeypatch, lost=2)
    assert [line.split()[1] for line in seen(run)] == ["node-1", "node-3"]


GONE = [
    ("true", "the database, upstream or load generator of nodes node-1 load-1 data is gone"),
    ("false", r"node node-1 \(server\) is lost: what it was measuring is not recorded"),
]


@pytest.mark.parametrize(("state", "words"), GONE)
def test_database_is_gone(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, words: str) -> None:
    for number in (2, 3):
        (run.on_lane(number).lane_folder / STEP).unlink()
    script = f"case $* in *Running*bench-a-run-loadgen-1*Labels*) ;; *Labels*) exit 1 ;; *) echo {state} ;; esac"
    pretend_docker(tmp_path, monkeypatch, script)
    with pytest.raises(Failure, match=words):
        waves.measure_wave(run)


def test_unreachable_counters_end_the_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""case $* in
*counters-reached*) echo "bench: ${{*: -1}} does not answer: timed out" >&2; exit 2 ;;
*Running*) cat {tmp_path}/running ;;
esac"""
    calls = pretend_docker(tmp_path, monkeypatch, script)
    engine = Nodes(run.on_lane(2))
    (tmp_path / "running").write_text("true\n")
    unreached = "bench: counters-support does not answer: timed out"
    words = f"the load generator on load-2 cannot reach the counters: {unreached}"
    assert refused(Failure, engine.start, step_with("a"), loadgen=True).words == words
    (tmp_path / "running").write_text("false\n")
    words = "node node-2 (server) is lost: what it was measuring is not recorded"
    assert refused(Failure, engine.start, step_with("a"), loadgen=True).words == words
    assert "compose" not in calls.read_text()


def test_containers_are_asked_where_they_are(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "case $* in *below-root*) printf /docker/abc ;; *counters*) echo cgroup v2 ;; esac"
    calls = pretend_docker(tmp_path, monkeypatch, script)
    engine = Nodes(run.on_lane(2))
    (engine.run.lane_folder / "apart").write_text("yes\n")
    (engine.run.lane_folder / "beside").write_text("server\n")
    assert engine.read("counters", "a") == "cgroup v2\napart yes\n"
    assert engine.read("counters", "postgres") == "cgroup v2\napart yes\nbeside server\n"
    assert engine.cgroup_of("postgres") == ["/docker/abc", "counters-support"]
    reads = "env CGROUP_ROOT=/host/cgroup python3 -m driver.counters"
    assert calls.read_text().splitlines() == [
        f"--context ctx-2 exec bench-a-run-lane2-counters-server {reads} counters 0",
        f"--context sctx exec bench-a-run-lane2-counters-support {reads} counters 0",
        f"--context sctx exec bench-a-run-lane2-counters-support {reads} below-root 0",
    ]


def test_what_a_reader_says_of_its_machine(capsys: Capture) -> None:
    counters.main(["counters", str(os.getpid())])
    lines = dict(line.partition(" ")[::2] for line in capsys.readouterr().out.splitlines())
    assert int(lines["host_cpus"]) == os.sysconf("SC_NPROCESSORS_ONLN") and "proc_stat_cpu" in lines
    counters.main(["boot-id", "0"])
    assert re.fullmatch(r"[0-9a-f-]{36}", capsys.readouterr().out)


def test_start_is_retried_once_a_manager_answers(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"""case $* in
*compose*) [[ -e {tmp_path}/tried ]] || {{ touch {tmp_path}/tried; exit 1; }} ;;
'context ls'*) echo ctx-1 ;;
esac"""
    calls = pretend_docker(tmp_path, monkeypatch, script)
    monkeypatch.setenv("BENCH_ENGINE_KIND", "docker")
    assert Nodes(run).up(["postgres"], run.folder / "start.log")
    ups = [line for line in calls.read_text().splitlines() if " compose " in line]
    assert len(ups) == 2 and ups[0] == ups[1]
    assert ups[0].startswith("--context sctx compose --project-name bench-a-run ")


def test_service_that_answers_on_its_own_machine(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_docker(tmp_path, monkeypatch, "[[ $* == *' exec bench-a-run-lane2-counters-server curl '*/b:8080/ ]]")
    assert [name for name in "ab" if Nodes(run.on_lane(2)).answers_at_home(name)] == ["b"]


def names(data: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return tar.getnames()


def test_inputs_of_a_lane_with_knees_if_needed(run: Run) -> None:
    lane = run.on_lane(2)
    knee = "raw/r01/a/json/vegeta-x/knee.json"
    for path in (*("run.json", "plan.jsonl", knee, "raw/r01/b/services/a.txt"), "raw/r01/c.spoiled-1/x"):
        (run.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (run.folder / path).write_text("x")
    (lane.lane_folder / "containers.json").write_text("of lane 2")
    sent = ["raw/r01/b", "step.json", "containers.json", "run.json", "plan.jsonl"]
    rest = ["raw/r01/b/services/a.txt", "raw/r01/c.spoiled-1"]
    assert names(loadgen.inputs(lane, "raw/r01/b")) == [*sent, *rest]
    write_step(lane, knee_p99_s=0.05)
    assert names(loadgen.inputs(lane, "raw/r01/b")) == [*sent, knee, *rest]
    with tarfile.open(fileobj=io.BytesIO(loadgen.inputs(lane, "raw/r01/b"))) as tar:
        step = tar.extractfile("step.json")
        assert step and json.loads(step.read())["host"]["id"] == "step-2"


def archive(files: dict[str, bytes], sums: dict[str, bytes]) -> bytes:
    lines = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in sums.items())
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, content in {**files, "SHA256SUMS": lines.encode()}.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return file.getvalue()


OUTPUT = {"raw/r01/a/output.bin": bytes(range(256)) * 8}


WHOLE = archive(OUTPUT, OUTPUT)
OUTSIDE = archive({"../out": b"x"}, {"../out": b"x"})
OTHER = archive(OUTPUT, {"raw/r01/a/output.bin": b"other"})
SENT = {12: [WHOLE, archive({}, {})], RUN: [OTHER, archive({}, OUTPUT), OUTSIDE, WHOLE[:1500], b""]}


@pytest.mark.parametrize(("data", "status"), cases(SENT))
def test_files_come_home(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, status: int) -> None:
    (tmp_path / "data").write_bytes(data)
    sends = f"*sha256sum*) cat {tmp_path}/data ;; *) cat >/dev/null ;;"
    calls = pretend_docker(tmp_path, monkeypatch, f"case $* in *'loadgen/measure run'*) exit 12 ;; {sends} esac")
    where, log = (run, "lctx-1", "bench-a-run-loadgen-1"), run.folder / "raw/r01/a/run.txt"
    done = in_far_loadgen(*where, ["loadgen/measure", "run"], log=log, folder="raw/r01/a")
    assert done.status == status
    there = {str(path.relative_to(run.folder)): path.read_bytes() for path in (run.folder / "raw/r01/a").glob("*.bin")}
    assert there == (OUTPUT if data == WHOLE else {}) and not (run.folder.parent / "out").exists()
    words = [line.split()[3] for line in calls.read_text().splitlines()]
    assert words == ["--interactive", "bench-a-run-loadgen-1", "bench-a-run-loadgen-1"]


def test_leftovers_of_all_lanes_are_removed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_nodes(run.on_lane(3).lane_folder, [Node("server", "late", "ctx-9", "198.18.64.9", KIND)])
    (run.folder / "lanes.tsv").unlink()
    script = "case $* in 'context ls'*) echo ctx-1 ;; *'container ls'*) echo id-${*: -1} ;; esac"
    calls = pretend_docker(tmp_path, monkeypatch, script)
    setup.remove_nodes(run)
    removed = [line.split() for line in calls.read_text().splitlines() if " rm " in line]
    lanes = {"": "ctx-1 lctx-1 sctx", "-lane2": "ctx-2 lctx-2 sctx", "-lane3": "ctx-3 lctx-3 sctx ctx-9"}
    contexts = {(context, f"bench-a-run{lane}") for lane, of in lanes.items() for context in of.split()}
    assert {(words[1], words[5].rpartition("=")[2]) for words in removed} == contexts


def test_network_of_a_lost_node(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("driver.docker.time.sleep", lambda _: None)
    script = "case $* in 'context ls'*) echo ctx-1 ;; *'network ls'*) echo id ;; *'network rm'*) exit 1 ;; esac"
    calls = pretend_docker(tmp_path, monkeypatch, script)
    setup._remove_lane(run)
    assert calls.read_text().count("network rm id") == 30
    assert "docker --context ctx-1 network rm bench-a-run removes it" in capsys.readouterr().err


def test_pairs_of_nodes_are_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    run = made_run(tmp_path, "a")
    run.settings.update(DATABASE_CPUS="1", LOADGEN_CPUS="1", BENCH_SUBNET="198.18.0.0/24")  # type: ignore[attr-defined]
    (run.folder / "run.json").write_text("{}")
    monkeypatch.setattr(setup, "need_far_compose", lambda _: None)

    other = Node("server", "node-6", "ctx-6", "198.18.64.6", "8 CPUs, 4.0 GiB, linux/x86_64")
    swarm = Mock(**{"usable.return_value": [*pair(1), *pair(2)[:2], other]})
    monkeypatch.setattr(setup, "read_swarm", lambda: swarm)
    setup.choose_nodes(run)
    assert capsys.readouterr().err.splitlines() == [
        "nodes: server node-1, load generator load-1, database data; overlay network, not encrypted",
        "2 pairs of nodes side by side: node-1 with load generator load-1; node-2 with load generator load-2",
        "left out, because figures of different nodes are not compared: "
        f"node-6 (server: {other.kind}, the run uses {KIND})",
    ]
    assert (run.folder / "lanes.tsv").read_text() == "1\t198.18.0.0/25\t1\n2\t198.18.0.128/25\t1\n"
    second = (run.folder / "lanes/2/nodes.tsv").read_text()
    assert [line.split("\t")[1] for line in second.splitlines()] == ["node-2", "load-2", "data"]
    assert json.loads((run.folder / "run.json").read_text())["lanes"]["most"] == 2
    swarm.usable.return_value = pair(1)
    setup.choose_nodes(run)
    assert not (run.folder / "lanes.tsv").exists()
    assert (run.folder / "lanes/2/nodes-ever.tsv").read_text() == second
    assert json.loads((run.folder / "run.json").read_text())["lanes"]["most"] == 2


def test_parallel_work_returns_results_and_raises_failures(tmp_path: Path, capsys: Capture) -> None:
    def work(number: int) -> int:
        if number < 0:
            raise Failure(2, f"{number} fails")
        (tmp_path / str(number)).touch()
        return 2 * number

    assert together(work, range(9), 4) == list(range(0, 18, 2))
    assert refused(Failure, together, work, (20, -1, 21), 3) == Failure(2, "-1 fails")
    assert (tmp_path / "21").exists()
    refused(Failure, together, work, (-1, -2), 1)
    assert capsys.readouterr().err == "-2 fails\n"
