"""What stops a run on a swarm, from what scripts/swarm.sh check finds out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from swarm_facts import THREE, inspected, swarm

from driver.docker import Done
from driver.nodes.check import (
    Finding,
    Port,
    clock_of,
    of_clock,
    of_engines,
    of_images,
    of_link,
    of_ports,
    of_roles,
)


def said(found: Iterable[Finding]) -> list[str]:
    return [str(finding) for finding in found]


def of_nodes(nodes: tuple[dict[str, Any], ...], *unreached: str) -> list[str]:
    found = swarm(nodes, *unreached)
    return said([*of_roles(found), *of_engines(found)])


def stops(nodes: tuple[dict[str, Any], ...], *unreached: str) -> list[str]:
    return [line for line in of_nodes(nodes, *unreached) if line.startswith("stop")]


def ping(round_trip_ms: float | None) -> Done:
    words = "PING x\n\n--- x ping statistics ---\n40 packets transmitted, 40 received, 0% packet loss, time 1951ms\n"
    times = f"rtt min/avg/max/mdev = 0.050/{round_trip_ms:.3f}/0.300/0.040 ms\n" if round_trip_ms else ""
    return Done(0 if times else 1, words + times, "")


def iperf(gbits: float | None) -> Done:
    failed = {"error": "unable to connect to server", "end": {}}
    return Done(0, json.dumps({"end": {"sum_received": {"bits_per_second": gbits * 1e9}}} if gbits else failed), "")


def test_nothing_stops_a_run_on_three_nodes_with_a_role_each() -> None:
    assert of_nodes(THREE) == ["ok: server: gamma", "ok: loadgen: beta", "ok: support: alpha"]


@pytest.mark.parametrize(("left_out", "role"), [(0, "support"), (1, "loadgen"), (2, "server")])
def test_a_role_that_no_node_has_stops(left_out: int, role: str) -> None:
    found = tuple(node for n, node in enumerate(THREE) if n != left_out)
    assert stops(found) == [f"stop: {role}: no node has this role: scripts/swarm.sh label NODE {role}"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"state": "down"}, "warn: delta: is down"), ({"availability": "drain"}, "warn: delta: is drained")],
)
def test_a_node_that_is_lost_stops_only_where_no_other_has_its_role(changed: dict[str, str], why: str) -> None:
    lost = inspected("delta", "server", **changed)
    assert not stops((*THREE, lost))
    assert any(line.startswith(why) for line in of_nodes((*THREE, lost)))
    assert stops((*THREE[:2], lost)) == ["stop: server: no node with this role can be used now (delta)"]


def test_a_node_without_a_context_stops() -> None:
    none, why = stops(THREE, "beta")
    assert none == "stop: loadgen: no node with this role can be used now (beta)"
    assert "docker context create beta --docker host=ssh://198.18.64.9" in why


def test_labels_that_were_set_by_hand() -> None:
    found = (*THREE, inspected("delta", "server+support"), inspected("epsilon", "client"))
    assert stops(found) == [
        "stop: delta: a server under test shares its node with no other role",
        "stop: epsilon: bench.role=client has no meaning; roles are server, loadgen, support",
    ]


def test_nodes_of_different_kinds_and_engines_are_named() -> None:
    found = (*THREE, inspected("delta", "server", cpus=8, engine="27.0.1"))
    assert not stops(found)
    words = "\n".join(of_nodes(found))
    assert "engines of 2 versions: 26.1.5, 27.0.1" in words
    assert "server nodes of 2 kinds, whose figures are not compared (delta: 8 CPUs" in words


@pytest.mark.parametrize(("ahead", "kind"), [(0.0, "ok"), (0.14, "ok"), (0.5, "warn"), (-0.5, "warn"), (3.0, "stop")])
def test_a_clock_is_held_to_what_is_certain(ahead: float, kind: str) -> None:
    # Asked for 100 ms: the middle is at 100.05 s.
    line = str(of_clock("gamma", *clock_of(100.0, f"1970-01-01T00:01:{40.05 + ahead:.6f}123Z", 100.1)))
    help_ = "; set it by NTP (chrony, systemd-timesyncd)" if kind != "ok" else ""
    assert line == f"{kind}: gamma: clock {ahead * 1000:+.0f} ms from this machine's (within 50){help_}"


def test_an_engines_time_in_another_zone_or_without_a_fraction() -> None:
    assert clock_of(100.0, "1970-01-01T02:01:40.1+02:00", 100.0)[0] == pytest.approx(0.1)
    assert clock_of(99.0, "1970-01-01T00:01:40Z\n", 101.0) == (0.0, 1.0)


def test_a_port_that_is_closed_stops() -> None:
    ports = [Port("alpha", "beta", 7946, True), Port("beta", "alpha", 2377, True)]
    assert said(of_ports(ports)) == ["ok: ports: 2377/tcp, 7946/tcp reached between all nodes with a role"]
    ports[1] = replace(ports[1], open=False)
    assert said(of_ports(ports)) == [
        "stop: beta: does not reach alpha at 2377/tcp (the swarm's managers): open it there"
    ]


@pytest.mark.parametrize(
    ("gbits", "round_trip_ms", "line"),
    [
        (None, None, "stop: beta to gamma: nothing passes on an overlay network: open 4789/udp and 7946/udp on both"),
        (None, 0.2, "stop: beta to gamma: iperf3 fails, although a ping passes: is the network's MTU too large?"),
        (0.4, 0.2, "warn: beta to gamma: 0.40 Gbit/s, 0.20 ms"),
        (9.0, 8.0, "warn: beta to gamma: 9.00 Gbit/s, 8.00 ms"),
        (9.5, 0.12, "ok: beta to gamma: 9.50 Gbit/s, 0.12 ms (iperf3 and ping, overlay)"),
    ],
)
def test_links(gbits: float | None, round_trip_ms: float | None, line: str) -> None:
    assert str(of_link("beta", "gamma", ping(round_trip_ms), iperf(gbits))).startswith(line)


def test_images_that_a_node_lacks() -> None:
    wanted = {"bench/loadgen": "sha256:1", "bench/postgres": "sha256:2"}
    assert said([of_images("beta", wanted, ["sha256:1"]), of_images("beta", wanted, ["sha256:2", "sha256:1"])]) == [
        "ok: beta: images that are not there yet and will be sent: bench/postgres",
        "ok: beta: has all images of the harness",
    ]
