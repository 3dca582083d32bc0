"""An app's interface is found in its source; if the source does not show it, the user must give it."""

from pathlib import Path

import pytest

from bench.own_app.interface import find_interface


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("source", "name", "interface"),
    [
        ("from flask import Flask\napp = Flask(__name__)", "app", "wsgi"),
        ("import flask as f\napp = f.Flask(__name__)", "app", "wsgi"),
        ("from fastapi import FastAPI as A\napp: A = A()", "app", "asgi"),
        ("import falcon.asgi\napp = falcon.asgi.App()", "app", "asgi"),
        ("import falcon\napp = falcon.App()", "app", "wsgi"),
        (
            "from aiohttp import web\nasync def create_app():\n    app = web.Application()\n    return app",
            "create_app",
            "aiohttp",
        ),
        ("import tornado.web\ndef make():\n    return tornado.web.Application([])", "make()", "tornado"),
        ("def app(environ, start_response):\n    return []", "app", "wsgi"),
        ("async def app(scope, receive, send): ...", "app", "asgi"),
        (
            "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()",
            "application",
            "wsgi",
        ),
        ("from pyramid.config import Configurator\napp = Configurator().make_wsgi_app()", "app", "wsgi"),
        (
            "from flask import Flask\nfrom x import ProxyFix\ninner = Flask('a')\napp = ProxyFix(inner, x_for=1)",
            "app",
            "wsgi",
        ),
        (
            "from flask import Flask\ndef create_app():\n    app = Flask('a')\n    return app\napp = create_app()",
            "app",
            "wsgi",
        ),
    ],
)
def test_found(tmp_path: Path, source: str, name: str, interface: str) -> None:
    found = find_interface(written(tmp_path, {"main": source}), "main", name)
    assert found is not None
    assert found.interface == interface


def test_followed_through_the_modules_of_the_folder(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        {
            "wsgi": "from shop import create_app\napp = create_app()",
            "shop/__init__": "from .factory import create_app",
            "shop/factory": "from flask import Flask\ndef create_app():\n    return Flask('shop')",
        },
    )
    found = find_interface(folder, "wsgi", "app")
    assert found is not None
    assert (found.interface, found.by) == ("wsgi", "flask.Flask")


@pytest.mark.parametrize(
    "source",
    ["app = make_something()", "from somewhere import app", "app = app", "def app(", "import other as app", ""],
)
def test_not_found(tmp_path: Path, source: str) -> None:
    assert find_interface(written(tmp_path, {"main": source}), "main", "app") is None


def test_modules_that_import_each_other_end(tmp_path: Path) -> None:
    assert find_interface(written(tmp_path, {"a": "from b import app", "b": "from a import app"}), "a", "app") is None
