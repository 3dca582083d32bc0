"""Finding the cgroup of each service without a Docker socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.load.cpu_counters import find_cgroups

A, B, FOREIGN = "a" * 64, "b" * 64, "c" * 64
ADDRESSES = {"aiohttp": "198.18.0.2", "tornado": "198.18.0.3", A[:12]: "198.18.0.2", B[:12]: "198.18.0.3"}


@pytest.mark.parametrize(
    "folder", ["docker/{}", "system.slice/docker-{}.scope", "user.slice/u.service/user.slice/docker-{}.scope"]
)
def test_containers_are_found_where_engines_put_them(tmp_path: Path, folder: str) -> None:
    for name in (A, B, FOREIGN):
        (tmp_path / folder.format(name) / "init.scope").mkdir(parents=True)
    (tmp_path / "system.slice/ssh.service").mkdir(parents=True)
    found = find_cgroups(["aiohttp", "tornado", "absent"], tmp_path, ADDRESSES.get)
    assert found == {"aiohttp": folder.format(A), "tornado": folder.format(B)}


def test_nothing_is_found_where_nothing_is_mounted(tmp_path: Path) -> None:
    assert find_cgroups(["aiohttp"], tmp_path / "none", ADDRESSES.get) == {}
