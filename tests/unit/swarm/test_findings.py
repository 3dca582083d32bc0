"""What stops a run on a swarm, from the files that scripts/swarm.sh check leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from swarm_facts import THREE, facts_folder, inspected, link_files

from bench.cli.swarm import swarm_check_verb, swarm_roles_verb
from bench.core.errors import UserError
from bench.swarm.facts import read_facts
from bench.swarm.findings import findings


def said(folder: Path) -> list[str]:
    return [str(finding) for finding in findings(read_facts(folder))]


def stops(folder: Path) -> list[str]:
    return [line for line in said(folder) if line.startswith("stop")]


def test_nothing_stops_a_run_on_three_nodes_with_a_role_each(tmp_path: Path) -> None:
    facts_folder(
        tmp_path,
        clocks="alpha 100.0 1970-01-01T00:01:40.050000000Z 100.1\n",
        wanted="bench/loadgen sha256:1\n",
        images="alpha sha256:1\nbeta sha256:1\ngamma sha256:1\n",
        ports="alpha beta 7946 open\nbeta alpha 2377 open\n",
    )
    link_files(tmp_path, "beta", "gamma", gbits=9.5, round_trip_ms=0.12)
    assert said(tmp_path) == [
        "ok: server: gamma",
        "ok: loadgen: beta",
        "ok: support: alpha",
        "ok: alpha: has all images of the harness",
        "ok: beta: has all images of the harness",
        "ok: gamma: has all images of the harness",
        "ok: alpha: clock +0 ms from this machine's (within 50)",
        "ok: ports: 2377/tcp, 7946/tcp reached between all nodes with a role",
        "ok: beta to gamma: 9.50 Gbit/s, 0.12 ms (iperf3 and ping, overlay)",
    ]


@pytest.mark.parametrize(("left_out", "role"), [(0, "support"), (1, "loadgen"), (2, "server")])
def test_a_role_that_no_node_has_stops(tmp_path: Path, left_out: int, role: str) -> None:
    facts_folder(tmp_path, tuple(node for n, node in enumerate(THREE) if n != left_out))
    assert stops(tmp_path) == [f"stop: {role}: no node has this role: scripts/swarm.sh label NODE {role}"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"state": "down"}, "warn: delta: is down"), ({"availability": "drain"}, "warn: delta: is drained")],
)
def test_a_node_that_is_lost_stops_only_where_no_other_has_its_role(
    tmp_path: Path, changed: dict[str, str], why: str
) -> None:
    lost = inspected("delta", "server", **changed)
    facts_folder(tmp_path, (*THREE, lost))
    assert not stops(tmp_path)
    assert any(line.startswith(why) for line in said(tmp_path))
    facts_folder(tmp_path, (*THREE[:2], lost))
    assert stops(tmp_path) == ["stop: server: no node with this role can be used now (delta)"]


def test_a_node_without_a_context_stops(tmp_path: Path) -> None:
    facts_folder(tmp_path, contexts="id-alpha alpha\nid-gamma gamma\n")
    assert len(stops(tmp_path)) == 2
    assert "docker context create beta --docker host=ssh://198.18.64.9" in stops(tmp_path)[1]


def test_labels_that_were_set_by_hand(tmp_path: Path) -> None:
    facts_folder(tmp_path, (*THREE, inspected("delta", "server+support"), inspected("epsilon", "client")))
    assert stops(tmp_path) == [
        "stop: delta: a server under test shares its node with no other role",
        "stop: epsilon: bench.role=client has no meaning; roles are server, loadgen, support",
    ]


def test_nodes_of_different_kinds_and_engines_are_named(tmp_path: Path) -> None:
    facts_folder(tmp_path, (*THREE, inspected("delta", "server", cpus=8, engine="27.0.1")))
    assert not stops(tmp_path)
    words = "\n".join(said(tmp_path))
    assert "engines of 2 versions: 26.1.5, 27.0.1" in words
    assert "server nodes of 2 kinds, whose figures are not compared (delta: 8 CPUs" in words


@pytest.mark.parametrize(("ahead", "kind"), [(0.0, "ok"), (0.14, "ok"), (0.5, "warn"), (-0.5, "warn"), (3.0, "stop")])
def test_a_clock_is_held_to_what_is_certain(tmp_path: Path, ahead: float, kind: str) -> None:
    # Asked for 100 ms: the middle is at 100.05 s.
    there = f"1970-01-01T00:01:{40.05 + ahead:.6f}123Z"
    facts_folder(tmp_path, clocks=f"gamma 100.0 {there} 100.1\n")
    (line,) = (line for line in said(tmp_path) if "clock" in line)
    assert line.startswith(f"{kind}: gamma: clock {ahead * 1000:+.0f} ms")


def test_of_several_answers_about_the_clock_the_quickest_counts(tmp_path: Path) -> None:
    answers = "gamma 100.0 1970-01-01T00:01:44Z 108.0\ngamma 110.0 1970-01-01T00:01:50.010Z 110.02\n"
    facts_folder(tmp_path, clocks=answers + "gamma 120.0 1970-01-01T00:02:02Z 124.0\n")
    assert "ok: gamma: clock +0 ms from this machine's (within 10)" in said(tmp_path)


def test_a_port_that_is_closed_stops(tmp_path: Path) -> None:
    facts_folder(tmp_path, ports="alpha beta 7946 open\nbeta alpha 2377 closed\n")
    assert stops(tmp_path) == ["stop: beta: does not reach alpha at 2377/tcp (the swarm's managers): open it there"]
    assert not any("reached between all" in line for line in said(tmp_path))


@pytest.mark.parametrize(
    ("gbits", "round_trip_ms", "line"),
    [
        (None, None, "stop: beta to gamma: nothing passes on an overlay network: open 4789/udp and 7946/udp on both"),
        (None, 0.2, "stop: beta to gamma: iperf3 fails, although a ping passes: is the network's MTU too large?"),
        (0.4, 0.2, "warn: beta to gamma: 0.40 Gbit/s, 0.20 ms"),
        (9.0, 8.0, "warn: beta to gamma: 9.00 Gbit/s, 8.00 ms"),
    ],
)
def test_links(tmp_path: Path, gbits: float | None, round_trip_ms: float | None, line: str) -> None:
    facts_folder(tmp_path)
    link_files(tmp_path, "beta", "gamma", gbits=gbits, round_trip_ms=round_trip_ms)
    assert any(one.startswith(line) for one in said(tmp_path))


def test_images_that_a_node_lacks(tmp_path: Path) -> None:
    facts_folder(tmp_path, wanted="bench/loadgen sha256:1\nbench/postgres sha256:2\n", images="beta sha256:1\n")
    assert "ok: beta: images that are not there yet and will be sent: bench/postgres" in said(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [("clocks", "alpha 1 now 2\n"), ("ports", "alpha beta\n"), ("nodes.json", "{}"), ("images", "a\n")],
)
def test_files_of_another_form_are_one_line(tmp_path: Path, name: str, text: str) -> None:
    facts_folder(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=r"not what"):
        said(tmp_path)


def test_the_status_says_whether_a_run_can_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swarm_check_verb([str(facts_folder(tmp_path))]) == 0
    (tmp_path / "ports").write_text("alpha beta 7946 closed\n")
    assert swarm_check_verb([str(tmp_path)]) == 1
    assert "stop: alpha" in capsys.readouterr().out


def test_roles_are_those_of_nodes_that_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = (inspected("alpha", "loadgen+support"), *THREE[1:], inspected("delta", "server", state="down"))
    assert swarm_roles_verb([str(facts_folder(tmp_path, nodes))]) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["loadgen", "alpha", "alpha"],
        ["support", "alpha", "alpha"],
        ["loadgen", "beta", "beta"],
        ["server", "gamma", "gamma"],
    ]
