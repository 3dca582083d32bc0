"""CPU sets from the host's topology and the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.core.errors import UserError
from bench.plan.cpus import choose, cores, resolve


@pytest.mark.parametrize(
    ("count", "server", "loadgen", "database"),
    [(1, "0", "0", "0"), (2, "0", "1", "1"), (3, "0", "1", "2"), (4, "0,1", "2", "3"), (8, "0,1,2,3", "4,5", "6,7")],
)
def test_cpus_never_overlap_where_there_are_enough(count: int, server: str, loadgen: str, database: str) -> None:
    chosen = choose([[n] for n in range(count)])
    assert list(chosen.values()) == [server, loadgen, database]


def test_hyper_threads_of_one_core_stay_together(tmp_path: Path) -> None:
    for cpu in range(8):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    groups = cores(range(8), tmp_path)
    assert groups == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert choose(groups)["LOADGEN_CPUS"] == "2,6"


def test_a_cpu_that_the_host_lacks_is_named() -> None:
    settings = {"SERVER_CPUS": "7", "LOADGEN_CPUS": "", "DATABASE_CPUS": ""}
    with pytest.raises(UserError, match="SERVER_CPUS=7"):
        resolve(settings, [0, 1])
    assert resolve(settings | {"SERVER_CPUS": "0-1"}, [0, 1])["SERVER_CPUS"] == "0-1"
