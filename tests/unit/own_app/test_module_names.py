"""An own app's modules with the names of ours, in a server's process: each gets its own."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import pytest
from places import ROOT
from text_files import written

SERVERS = sorted(file for file in (ROOT / "services/servers").glob("*/*") if b"from app import" in file.read_bytes())
SERVE = """
from server.drained import ECHO_LIMIT, app
print(ECHO_LIMIT, *app({}, None))
"""


@pytest.mark.parametrize("init", [{"__init__.py": ""}, {}], ids=["package", "namespace"])
@pytest.mark.parametrize("place", ["folder", "folder/src", "installed"])
@pytest.mark.parametrize("name", ["app", "common", "server"])
def test_modules_named_like_ours(tmp_path: Path, name: str, place: str, init: dict[str, str]) -> None:
    image, folder = tmp_path / "image", tmp_path / "folder"
    folder.mkdir()
    own = {
        "app.py": (ROOT / "services/own/app.py").read_text().replace("/srv/app", str(folder)),
        "common/contract.py": "ECHO_LIMIT = 1",
        "server/drained.py": (ROOT / "services/servers/granian-wsgi/drained.py").read_text(),
    }
    written(image, own | {"common/__init__.py": "", "server/__init__.py": ""})
    assert "&& touch server/__init__.py &&" in (ROOT / "services/debian.Dockerfile").read_text()
    main = f"from {name} import contract\ndef app(environ, start_response):\n    from {name} import late\n"
    main += "    return contract.VALUE, late.VALUE\n"
    modules = {"main.py": main, "contract.py": "VALUE = 2", "late.py": "VALUE = 3"}
    written(tmp_path / place / name, modules | init)
    path = f"{image}:{tmp_path / 'installed'}"
    env = {"APP": f"{name}.main:app", "APP_INTERFACE": "wsgi", "PYTHONPATH": path}
    words = [sys.executable, "-c", SERVE]
    done = subprocess.run(words, cwd=image, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "1 2 3\n", done.stderr


@pytest.mark.parametrize("file", SERVERS, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_a_server_imports_ours_before_the_app(file: Path) -> None:
    imports = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ImportFrom)]
    modules = [(node.module or "").partition(".")[0] for node in imports]
    assert not {"common", "server"} & {*modules[modules.index("app") :]}


@pytest.mark.parametrize("kind", ["gevent", "eventlet"])
@pytest.mark.parametrize("file", ["gunicorn-{}/gunicorn.conf.py", "{}/start"])
def test_psycopg2_of_an_app_is_patched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, file: str) -> None:
    for name in (kind, f"{kind}.pywsgi", f"{kind}.wsgi", "app", "common", "common.gunicorn_settings"):
        monkeypatch.setitem(sys.modules, name, MagicMock(spec=ModuleType, __all__=()))
    for name in ("monkey", "monkey_patch", "getcurrent", "wsgi", "pywsgi"):
        setattr(sys.modules[kind], name, MagicMock())
    sys.modules["gevent.pywsgi" if kind == "gevent" else "app"].WSGIHandler = object  # type: ignore[attr-defined]
    sys.modules["app"].app = sys.modules["common"].prefork = MagicMock()  # type: ignore[attr-defined]
    sys.modules[f"{kind}.pywsgi"].WSGIServer = MagicMock()  # type: ignore[attr-defined]
    monkeypatch.syspath_prepend(tmp_path)
    called = tmp_path / "called"
    patch = f"import psycopg2\ndef patch_psycopg(): open({str(called)!r}, 'w')"
    written(tmp_path, {"psycogreen/__init__.py": "", f"psycogreen/{kind}.py": patch})

    def serve() -> bool:
        for name in ("psycopg2", f"psycogreen.{kind}", "psycogreen"):
            sys.modules.pop(name, None)
        folder = "gevent-pywsgi" if "start" in file and kind == "gevent" else kind
        server = runpy.run_path(str(ROOT / "services/servers" / file.format(folder)))
        server.get("post_fork", lambda *_: None)(None, None)
        return called.exists()

    assert not serve()
    written(tmp_path, {"psycopg2.py": "raise ImportError('no libpq')"})
    with pytest.raises(ImportError, match="no libpq"):
        serve()
    written(tmp_path, {"psycopg2.py": ""})
    assert serve()
