"""Pairs of nodes side by side: which ones, their parts of the subnet, their CPUs, and their Compose files."""

from __future__ import annotations

import io
import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import main
from bench.core.errors import UserError
from bench.swarm.lanes import lane_compose, lane_subnets, lanes_of, of_largest_kinds, run_entry

SMALL, LARGE = "2 CPUs, 4.0 GiB, linux/x86_64", "8 CPUs, 16.0 GiB, linux/x86_64"
KNOBS = {"DATABASE_CPUS": "1", "LOADGEN_CPUS": "1"}


def node(role: str, number: int, kind: str = SMALL) -> str:
    return f"{role} node-{number} ctx-{number} 198.18.64.{number} {kind}"


ROLES = [node("support", 1), node("loadgen", 3), node("loadgen", 2), node("server", 4), node("server", 5)]


def test_each_server_has_a_load_generator_of_its_own() -> None:
    lanes = lanes_of(ROLES, [], "198.18.0.0/24", KNOBS)
    assert [[one[1] for one in lane.nodes] for lane in lanes] == [
        ["node-4", "node-2", "node-1"],
        ["node-5", "node-3", "node-1"],
    ]
    assert len(lanes_of([one for one in ROLES if "node-3" not in one], [], "198.18.0.0/24", KNOBS)) == 1


def test_servers_are_of_the_kind_that_most_have_and_the_others_are_named() -> None:
    roles = [node("server", 1, LARGE), *ROLES]
    kept, left_out = of_largest_kinds(roles)
    assert sorted(kept) == sorted(ROLES)
    assert left_out == [f"node-1 (server: {LARGE}, the others have {SMALL})"]
    assert {lane.server[4] for lane in lanes_of(roles, [], "198.18.0.0/24", KNOBS)} == {SMALL}
    # A run that goes on stays with the kind that it began with.
    before = [f"server\tnode-9\tctx-9\t198.18.64.9\t{LARGE}"]
    assert [lane.server[1] for lane in lanes_of(roles, before, "198.18.0.0/24", KNOBS)] == ["node-1"]


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_lanes_have_parts_of_the_subnet_that_do_not_overlap(count: int) -> None:
    parts = [ipaddress.ip_network(part) for part in lane_subnets("198.18.0.0/24", count)]
    whole = ipaddress.ip_network("198.18.0.0/24")
    assert len(parts) == count
    assert all(part.subnet_of(whole) for part in parts)  # type: ignore[arg-type]
    assert not any(a.overlaps(b) for n, a in enumerate(parts) for b in parts[n + 1 :])
    assert parts[0].num_addresses == 128
    assert all(part.num_addresses >= 32 for part in parts)


def test_one_lane_has_the_whole_subnet_and_too_small_a_one_is_refused() -> None:
    assert lane_subnets("198.18.0.0/24", 1) == ["198.18.0.0/24"]
    with pytest.raises(UserError, match=r"no room for 6 pairs side by side: set one of /23 in \.env"):
        lane_subnets("198.18.0.0/24", 6)
    assert len(set(lane_subnets("198.18.0.0/23", 6))) == 6


def test_databases_have_cpus_of_their_own_where_there_are_enough() -> None:
    enough = [node("support", 1, LARGE), *ROLES[1:]]
    assert [lane.database_cpus for lane in lanes_of(enough, [], "198.18.0.0/24", KNOBS)] == ["1", "0"]
    two = {"DATABASE_CPUS": "6-7", "LOADGEN_CPUS": "1"}
    assert [lane.database_cpus for lane in lanes_of(enough, [], "198.18.0.0/24", two)] == ["6-7", "0,1"]
    # The node is a load generator's too, whose CPUs are not for databases.
    both = [node("support", 2, LARGE), node("loadgen", 2, LARGE), node("loadgen", 3, LARGE), *ROLES[3:]]
    cpus = {"DATABASE_CPUS": "1", "LOADGEN_CPUS": "0"}
    assert [lane.database_cpus for lane in lanes_of(both, [], "198.18.0.0/24", cpus)] == ["1", "2"]


def test_what_is_shared_is_said_and_stays_said() -> None:
    lanes = lanes_of(ROLES, [], "198.18.0.0/24", KNOBS | {"DATABASE_CPUS": "0-1"})
    entry = run_entry(lanes, ["node-9"], {})
    assert entry == {"most": 2, "left_out": ["node-9"], "shared": ["node-1 CPU 0", "node-1 CPU 1"]}
    assert run_entry(lanes[:1], [], entry) == entry
    apart = lanes_of([node("support", 1, LARGE), *ROLES[1:]], [], "198.18.0.0/24", KNOBS)
    assert run_entry(apart, [], {})["shared"] == []


def test_a_second_support_node_takes_every_other_lane() -> None:
    lanes = lanes_of([*ROLES, node("support", 6)], [], "198.18.0.0/24", KNOBS)
    assert [lane.support[1] for lane in lanes] == ["node-1", "node-6"]
    assert run_entry(lanes, [], {})["shared"] == []


def test_a_lanes_compose_file_differs_in_its_project_and_its_databases_cpus() -> None:
    compose: dict[str, Any] = {
        "name": "bench-run",
        "services": {"postgres": {"cpuset": "1"}, "upstream": {"cpuset": "1"}, "null": {"cpuset": "0"}},
        "networks": {"bench": {"name": "bench-run", "external": True}},
        "volumes": {"source": {"name": "bench-run-source", "external": True}},
    }
    made = lane_compose(compose, "bench-run-lane2", "3")
    assert made["services"] == {"postgres": {"cpuset": "3"}, "upstream": {"cpuset": "3"}, "null": {"cpuset": "0"}}
    assert made["volumes"] == {"source": {"name": "bench-run-lane2-source", "external": True}}
    assert made["name"] == made["networks"]["bench"]["name"] == "bench-run-lane2"
    assert compose["name"] == "bench-run"


def test_the_verb_writes_the_nodes_of_each_lane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"knobs": KNOBS}))
    (tmp_path / "nodes-ever.tsv").write_text(f"server\tnode-4\tctx-4\t198.18.64.4\t{SMALL}\n")

    def chosen(*roles: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(roles)))
        assert main(["lanes", str(tmp_path), "198.18.0.0/24"]) == 0
        return capsys.readouterr().out

    said = chosen(*ROLES, node("server", 6, LARGE))
    assert said.splitlines() == [
        "2 pairs of nodes side by side: node-4 with load generator node-2; node-5 with load generator node-3",
        f"left out, as figures of other nodes are not compared: node-6 (server: {LARGE}, the others have {SMALL})",
    ]
    assert (tmp_path / "lanes.tsv").read_text() == "1\t198.18.0.0/25\t1\n2\t198.18.0.128/25\t0\n"
    nodes = (tmp_path / "lanes/2/nodes.tsv").read_text()
    assert [line.split("\t")[1] for line in nodes.splitlines()] == ["node-5", "node-3", "node-1"]
    assert json.loads((tmp_path / "run.json").read_text())["lanes"]["most"] == 2
    # Where one is left, there are no lanes, and what lane 2 had is still known, to be removed.
    assert chosen(*(line for line in ROLES if "node-3" not in line)) == ""
    assert not (tmp_path / "lanes.tsv").exists()
    assert (tmp_path / "lanes/2/nodes-ever.tsv").read_text() == nodes
