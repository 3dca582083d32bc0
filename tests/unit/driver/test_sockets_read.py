"""How the sockets of a server are read: from a container beside it; and what is kept where that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pretend_engine import PretendEngine, made_run, pretend_docker

from driver.docker import Done
from driver.services import sockets

READER = (
    "run --rm --label bench.run=bench-a-run --pid container:bench-a-run-a-1 --network container:bench-a-run-a-1 "
    "--cap-drop ALL --cap-add SYS_PTRACE --user 0:0 --read-only --tmpfs /tmp --volume {}:/bench:ro --workdir /bench "
    "--entrypoint  bench/loadgen python3 -m bench sockets"
)


def kept(engine: PretendEngine) -> str:
    sockets.check_sockets(engine, "a")
    return (engine.run.service_folder("a") / "sockets.json").read_text()


def test_the_reader_is_in_the_services_namespaces_and_has_the_one_capability_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = pretend_docker(tmp_path, monkeypatch, """echo '{"options": {}}'""")
    assert kept(PretendEngine(made_run(tmp_path, "a"))) == '{"options": {}}\n'
    assert calls.read_text() == READER.format(tmp_path) + "\n"


def test_an_engine_that_refuses_is_a_reason_and_its_quotes_break_no_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_docker(
        tmp_path, monkeypatch, "printf 'before\\ndocker: \"--pid\" is not \\\\allowed\\033[0m\\n' >&2; exit 125"
    )
    reason = json.loads(kept(PretendEngine(made_run(tmp_path, "a"))))["unreadable"]
    assert reason == 'no container can look into the service: docker: "--pid" is not \\allowed\033[0m'


def test_the_own_bind_of_each_server_is_read_once_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = f"""case $* in
*:/own:ro*) : >{tmp_path}/fresh ;;
*'bench sockets') rm {tmp_path}/fresh 2>/dev/null && echo '{{"fault": "none"}}' || echo '{{"options": 1}}' ;;
esac"""
    calls = pretend_docker(tmp_path, monkeypatch, script)
    engine = PretendEngine(made_run(tmp_path, "waitress-x", "hypercorn-x"))
    engine.said["own-binds waitress hypercorn"] = Done(
        0, "waitress\twaitress-x\twaitress-serve hello:app\nhypercorn\thypercorn-x\thypercorn hello:app\n", ""
    )
    engine.said["own-binds-read"] = Done(0, "the table\n", "")
    monkeypatch.setattr(sockets, "open_run", lambda name: engine.run)
    monkeypatch.setattr(sockets, "engine_of", lambda run: engine)
    monkeypatch.setattr(sockets, "sleep", lambda seconds: None)
    assert sockets.main(["a-run", "waitress", "hypercorn"]) == 0
    assert (engine.run.folder / "own-binds.tsv").read_text() == 'waitress\t{"options": 1}\nhypercorn\t{"options": 1}\n'
    assert (engine.run.folder / "listeners.toml").read_text() == "the table\n"
    begun, first, second, gone = [line for line in calls.read_text().splitlines() if "own-waitress" in line]
    assert " --network none --init --read-only --cap-drop ALL " in begun
    assert begun.endswith(" --workdir /tmp bench/waitress-x sh -c exec waitress-serve hello:app")
    assert first == second == READER.format(tmp_path).replace("a-run-a-1", "a-run-own-waitress")
    assert gone == "rm --force --volumes bench-a-run-own-waitress"
    assert capsys.readouterr().err == "waitress\nhypercorn\n"
