"""Where the load generator reaches the containers of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from bench.run.addresses import host_and_port, read_addresses


def test_addresses_of_a_run(tmp_path: Path) -> None:
    assert read_addresses(tmp_path) == {}
    (tmp_path / "addresses.tsv").write_text("web\t198.18.83.1:21000\n")
    assert read_addresses(tmp_path) == {"web": "198.18.83.1:21000"}
    assert host_and_port("counters-server", 7070) == ("counters-server", 7070)
    assert host_and_port("198.18.83.1:21000", 7070) == ("198.18.83.1", 21000)
    (tmp_path / "addresses.tsv").write_text("web 198.18.83.1:21000\n")
    with pytest.raises(UserError, match="no lines of names and addresses"):
        read_addresses(tmp_path)
