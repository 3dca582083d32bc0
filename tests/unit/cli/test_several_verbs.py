"""The verbs of a run on several machines, as scripts call them."""

from __future__ import annotations

import io
import json
import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.load import far_counters

Capture = pytest.CaptureFixture[str]

KIND, OTHER = "4 CPUs, 8.0 GiB, linux/x86_64", "8 CPUs, 8.0 GiB, linux/x86_64"
ROLES = [
    f"support node-1 ctx-1 198.18.64.1 {KIND}",
    f"loadgen node-2 ctx-2 198.18.64.2 {KIND}",
    f"loadgen node-3 ctx-3 198.18.64.3 {KIND}",
    f"server node-4 ctx-4 198.18.64.4 {KIND}",
    f"server node-5 ctx-5 198.18.64.5 {OTHER}",
    f"server node-6 ctx-6 198.18.64.6 {OTHER}",
]


def asked(monkeypatch: pytest.MonkeyPatch, words: str, *argv: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(words))
    return main(argv)


def test_nodes_of_the_largest_kind_are_chosen_and_a_run_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    roles, ever = "\n".join(ROLES), tmp_path / "nodes-ever.tsv"
    assert asked(monkeypatch, roles, "several-nodes", str(ever), "2") == 0
    chosen = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [words[:2] for words in chosen] == [
        ["server", "node-5"],
        ["loadgen", "node-2"],
        ["support", "node-1"],
        ["loadgen-2", "node-3"],
    ]
    ever.write_text(f"server\tnode-4\tctx-4\t198.18.64.4\t{KIND}\n")
    assert asked(monkeypatch, roles, "several-nodes", str(ever)) == 0
    assert capsys.readouterr().out.startswith("server\tnode-4\t")
    assert asked(monkeypatch, roles, "several-nodes", str(ever), "3") == 2
    assert "3 load generators need as many nodes of one kind, there are 2" in capsys.readouterr().err


def test_a_compose_file_becomes_that_of_a_swarm_or_of_two_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    web = {"image": "bench/web", "networks": {"bench": None}, "cpuset": "0"}
    compose = {
        "name": "bench",
        "services": dict.fromkeys(("web", "loadgen", "postgres"), web),
        "networks": {"bench": {"internal": True}},
        "secrets": {},
    }
    assert asked(monkeypatch, json.dumps(compose), "several-compose", str(tmp_path), "bench-a-run") == 0
    assert json.loads(capsys.readouterr().out)["networks"]["bench"] == {"name": "bench-a-run", "external": True}
    (tmp_path / "addresses.tsv").write_text("counters-server\t198.51.100.1:21000\nweb\t198.51.100.1:21002\n")
    assert asked(monkeypatch, json.dumps(compose), "several-compose", str(tmp_path), "bench-a-run") == 0
    made = json.loads(capsys.readouterr().out)
    assert "198.51.100.1" in json.dumps(made["services"]["web"]["ports"])


def test_counters_are_served_of_listed_containers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/cpu.stat").write_text("usage_usec 7\n")
    listed = tmp_path / "containers.tsv"
    listed.write_text("web\tweb\n")
    monkeypatch.setenv("CGROUP_ROOT", str(tmp_path))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    served: list[object] = []

    def kept(make: object) -> object:
        served.append(far_counters.serve(make, ("127.0.0.1", port)))  # type: ignore[arg-type]
        return served[0]

    monkeypatch.setattr("bench.cli.several.serve", kept)
    thread = threading.Thread(target=main, args=(["counters", str(listed)],))
    thread.start()
    try:
        assert main(["counters-reached", f"127.0.0.1:{port}"]) == 0
        far = far_counters.far_reader(f"127.0.0.1:{port}")
        assert set(far.read(["web", "other"])[0]) <= {"web"}
        far.close()
    finally:
        served[0].shutdown()  # type: ignore[attr-defined]
        thread.join()
        served[0].server_close()  # type: ignore[attr-defined]
    monkeypatch.setattr(far_counters.await_reader, "__defaults__", (0.1, 0.1))
    assert main(["counters-reached", f"127.0.0.1:{port}"]) == 2
    assert "127.0.0.1 does not answer: " in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["counters"], ["counters-reached"], ["several-compose", "x"], ["several-nodes"]])
def test_how_they_are_called_is_said(argv: list[str], capsys: Capture) -> None:
    assert main(argv) == 2
    assert f"usage: python3 -m bench {argv[0]} " in capsys.readouterr().err
