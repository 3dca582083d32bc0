"""The verbs of a run on several machines, as scripts call them."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.load import far_counters

Capture = pytest.CaptureFixture[str]


def test_counters_are_served_of_listed_containers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/cpu.stat").write_text("usage_usec 7\n")
    listed = tmp_path / "containers.tsv"
    listed.write_text("web\tweb\n")
    monkeypatch.setenv("CGROUP_ROOT", str(tmp_path))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    served: list[object] = []

    def kept(make: object) -> object:
        served.append(far_counters.serve(make, ("127.0.0.1", port)))  # type: ignore[arg-type]
        return served[0]

    monkeypatch.setattr("bench.cli.load.serve", kept)
    thread = threading.Thread(target=main, args=(["counters", str(listed)],))
    thread.start()
    try:
        assert main(["counters-reached", f"127.0.0.1:{port}"]) == 0
        far = far_counters.far_reader(f"127.0.0.1:{port}")
        assert set(far.read(["web", "other"])[0]) <= {"web"}
        far.close()
    finally:
        served[0].shutdown()  # type: ignore[attr-defined]
        thread.join()
        served[0].server_close()  # type: ignore[attr-defined]
    monkeypatch.setattr(far_counters.await_reader, "__defaults__", (0.1, 0.1))
    assert main(["counters-reached", f"127.0.0.1:{port}"]) == 2
    assert "127.0.0.1 does not answer: " in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["counters"], ["counters-reached"], ["lanes-speed-up"]])
def test_how_they_are_called_is_said(argv: list[str], capsys: Capture) -> None:
    assert main(argv) == 2
    assert f"usage: python3 -m bench {argv[0]} " in capsys.readouterr().err
