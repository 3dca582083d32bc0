"""CPU counters of another machine, read over the network."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from captured import refused
from served import served
from waiting import HANGS_S

from bench.core.errors import UserError
from bench.load import cpu_counters as cpu_counters_module
from bench.load import far_counters as far_counters_module
from bench.load.cpu_counters import CpuCounters
from bench.load.far_counters import FarCounters, await_reader, far_reader, serve

TICKS = (1, 2, 3, 4, 5, 6, 7, 8)
HERE = "cpu  10 10 10 10 10 10 10 10 0 0\n"


@pytest.fixture
def reader() -> Iterator[int]:
    """A reader that knows `web` (1000 ns, more with each request) and `postgres`."""
    used = {"web": 1000, "postgres": 7}

    def answer(names: list[str]) -> tuple[dict[str, int], tuple[int, ...]]:
        used["web"] += 1000 * ("web" in names)
        return {name: used[name] for name in names if name in used}, TICKS

    server = serve(lambda: answer, ("127.0.0.1", 0))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "cpu.stat").write_text("usage_usec 5\n")
    (tmp_path / "stat").write_text(HERE)
    return tmp_path


def of(port: int, own: Path, *names: str) -> CpuCounters:
    far = FarCounters("127.0.0.1", port)
    return CpuCounters(dict.fromkeys(names, far), root=own, own_cgroup=own, stat=own / "stat")


def test_what_is_far_is_read_like_what_is_here(reader: int, own: Path) -> None:
    counters = of(reader, own, "web", "postgres")
    assert (counters.missing, set(counters.names)) == ({}, {"web", "postgres"})
    first, second = counters.read("web"), counters.read("web", "postgres")
    assert second.cpu_ns["web"] - first.cpu_ns["web"] == 1000
    assert second.cpu_ns | {"web": 0} == {"web": 0, "postgres": 7, "loadgen": 5000}
    assert counters.cpu_ns("web") > second.cpu_ns["web"]


def test_a_reader_is_at_another_port_where_that_is_given(reader: int) -> None:
    assert far_reader(f"127.0.0.1:{reader}").read(["postgres"]) == ({"postgres": 7}, TICKS)
    assert "no-such-reader does not answer" in str(refused(UserError, far_reader, "no-such-reader"))


def test_readers_on_this_machine_count_its_ticks_once(reader: int, own: Path) -> None:
    counters = of(reader, own, "web")
    assert counters.read("web").host_ticks == (10,) * 8 and len(counters.host_cpus) == 1


def test_ticks_of_another_machine_are_added(reader: int, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_counters_module, "boot_id", lambda: "another kernel")
    counters = of(reader, own, "web")
    assert counters.read("web").host_ticks == tuple(10 + ticks for ticks in TICKS)
    assert counters.read().host_ticks == tuple(10 + ticks for ticks in TICKS), "asked for no container of it"
    assert len(counters.host_cpus) == 2


def test_a_container_that_its_machine_does_not_know_is_missing(reader: int, own: Path) -> None:
    counters = of(reader, own, "web", "gone")
    assert counters.missing == {"gone": "its cgroup cannot be read on its machine"}
    assert counters.cpu_ns("gone") == 0


def test_a_reader_that_comes_late_is_waited_for(reader: int, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [TimeoutError("timed out"), ConnectionRefusedError("refused")]
    connect = socket.create_connection

    def late(address: tuple[str, int], timeout_s: float) -> socket.socket:
        if failures:
            raise failures.pop()
        return connect(address, timeout_s)

    monkeypatch.setattr(socket, "create_connection", late)
    await_reader(f"127.0.0.1:{reader}", patience_s=HANGS_S)
    assert not failures


def test_a_reader_that_does_not_come_has_its_last_failure() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(UserError, match="does not answer any more: timed out"):
            await_reader(f"127.0.0.1:{port}", 0.3, 0.1)
    with pytest.raises(UserError, match=r"does not answer: .*refused"):
        await_reader(f"127.0.0.1:{port}", 0.3, 0.1)


@pytest.mark.parametrize("words", [b"no json\n", b"[]\n", b'{"boot": "a"', b""])
def test_what_is_no_reader_is_refused(words: bytes) -> None:
    with served(lambda one: one.sendall(words)) as port, pytest.raises(UserError, match="an incomplete answer"):
        FarCounters("127.0.0.1", port, timeout_s=HANGS_S)


@pytest.mark.parametrize("words", [b'{"cpu_ns": {}, "host_ticks": [1]}\n', b'{"cpu_ns": {"web": "x"}}\n', b"{}\n"])
def test_an_answer_of_another_kind_is_refused(words: bytes) -> None:
    answer = b'{"boot": "a", "cpus": 2}\n' + words
    with served(lambda one: one.sendall(answer)) as port:
        far = FarCounters("127.0.0.1", port, timeout_s=HANGS_S)
        with pytest.raises(UserError, match="did not answer like a reader of counters"):
            far.read(["web"])
        far.close()


def test_the_boot_id_is_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("abc\n")
    assert far_counters_module.boot_id(tmp_path / "id") == "abc"
    assert far_counters_module.boot_id(tmp_path / "none") == ""
