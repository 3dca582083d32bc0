"""A user's Compose file that takes more time or memory than any file needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver.failure import Failure
from driver.planning import compose_file
from driver.planning.compose_file import MEMORY_MIB, read_compose

CLIENT = """#!/bin/sh
[ $(ulimit -d) = {kib} ] || {{ echo "$(ulimit -d) KiB"; exit 1; }}
{body}
"""


def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> str:
    client, file = tmp_path / "docker", tmp_path / "compose.yml"
    client.write_text(CLIENT.format(kib=MEMORY_MIB << 10, body=body))
    client.chmod(0o755)
    file.write_text("services: {}")
    monkeypatch.setenv("BENCH_DOCKER", str(client))
    with pytest.raises(Failure) as failure:
        read_compose(file, None)
    assert failure.value.status == 2
    return failure.value.words


@pytest.mark.parametrize("words", ["runtime: out of memory", "runtime: cannot allocate memory", "out of memory (x)"])
def test_docker_compose_has_a_limit_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    body = f"printf '%s\\n' 'fatal error: {words}' '' 'goroutine 1 [running]:' 'main.go:1 +0x1' >&2; exit 2"
    said = refused(tmp_path, monkeypatch, body)
    assert said.startswith(f"--compose: Docker Compose needs more than {MEMORY_MIB} MiB to read it: write its aliases")
    assert refused(tmp_path, monkeypatch, "echo 'yaml: out of memory' >&2; exit 1") == "--compose: yaml: out of memory"


def test_docker_compose_has_a_limit_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose_file, "PATIENCE_S", 0.2)
    said = refused(tmp_path, monkeypatch, "sleep 9")
    assert said == f"--compose: {tmp_path}/docker compose --project-name own took longer than 0.2 s"
