"""Whether the subnet of a run is another network's, from what Docker says of all networks."""

import io
import json

import pytest

from bench.__main__ import main

OTHERS = [
    {"Name": "host", "Labels": {}, "IPAM": {"Config": None}},
    {"Name": "six", "Labels": None, "IPAM": {"Config": [{"Subnet": "fd00::/64"}, {"Subnet": "172.17.0.0/16"}]}},
    {
        "Name": "run",
        "Labels": {"com.docker.compose.project": "a-run"},
        "IPAM": {"Config": [{"Subnet": "198.18.0.0/26"}]},
    },
]


@pytest.mark.parametrize(
    ("subnet", "project", "names"),
    [
        ("198.18.0.0/24", "another-run", "run"),
        ("198.18.0.32/28", "another-run", "run"),
        ("198.18.0.64/26", "another-run", ""),
        ("198.18.0.0/26", "a-run", ""),
        ("172.17.9.0/24", "a-run", "six"),
        ("128.0.0.0/1", "another-run", "six, run"),
    ],
)
def test_a_subnet_is_taken_where_a_network_of_another_project_overlaps_it(
    subnet: str, project: str, names: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(OTHERS)))
    assert main(["subnet-taken", subnet, project]) == (0 if names else 1)
    assert capsys.readouterr().out == f"{names}\n"


@pytest.mark.parametrize(("subnet", "text"), [("198.18.0.0/99", "[]"), ("198.18.0.0/24", "Error")])
def test_what_cannot_be_read_is_an_error(subnet: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["subnet-taken", subnet, "a-run"]) == 2
