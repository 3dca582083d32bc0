"""An app's interface is found in its source, or, if that does not show it, by importing the app."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from places import ROOT
from tables import rows
from text_files import written

from bench.own_app.interface import find_interface


@pytest.mark.parametrize(("source", "name", "interface"), rows(__file__, "sources"))
def test_found(tmp_path: Path, source: str, name: str, interface: str) -> None:
    found = find_interface(written(tmp_path, {"main.py": source}), "main", name)
    assert found and found.interface == interface


def test_followed_through_the_modules_of_the_folder(tmp_path: Path) -> None:
    files = {
        "wsgi.py": "from shop import create_app\napp = create_app()",
        "shop/__init__.py": "from .factory import create_app",
        "shop/factory.py": "from flask import Flask\ndef create_app():\n    return Flask('shop')",
    }
    found = find_interface(written(tmp_path, files), "wsgi", "app")
    assert found and (found.interface, found.by) == ("wsgi", "flask.Flask")


@pytest.mark.parametrize(
    "source",
    [
        "app = make_something()",
        "from somewhere import app",
        "app = app",
        "def app(",
        "import other as app",
        "",
        "from flask import Flask\nfrom asgiref.wsgi import WsgiToAsgi\napp = Flask('a')\napp = WsgiToAsgi(app)",
        "import flask, quart\ndef app():\n    if x: return flask.Flask('a')\n    return quart.Quart('a')",
        "app = a0\n" + "\n".join(f"a{n} = a{n + 1}" for n in range(3000)),
        "app = " + "-" * 20000 + "1",
        "\n".join(["app = X(app)"] * 100),
        "\n".join(f"{' ' * n}def {'f' * n or 'app'}(): \n{' ' * (n + 1)}return {'f' * (n + 1)}" for n in range(90)),
    ],
    ids=range(12),
)
def test_not_found(tmp_path: Path, source: str) -> None:
    assert find_interface(written(tmp_path, {"main.py": source}), "main", "app") is None


def test_modules_that_import_each_other_end(tmp_path: Path) -> None:
    files = {"a.py": "from b import app", "b.py": "from a import app"}
    assert find_interface(written(tmp_path, files), "a", "app") is None


APPS = """
import asyncio, functools
class Wsgi:
    def __call__(self, environ, start_response): ...
class Asgi:
    async def __call__(self, scope, receive, send): ...
class Either:
    def __call__(self, *args, **kwargs): ...
class Slot:
    def __init__(self):
        self.__call__ = Asgi().__call__
    __slots__ = ["__call__"]
class Old:
    def __init__(self, environ, start_response): ...
def wsgi(environ, start_response, more=None): ...
async def asgi(scope, receive, send): ...
def plain(scope, receive, send): ...
def either(*args): ...
class AnyAsgi:
    async def __call__(self, *args): ...
partial = functools.partial(plain, 1)
wsgi_object, asgi_object, slot, either_object, any_asgi, settings = Wsgi(), Asgi(), Slot(), Either(), AnyAsgi(), {}
def make_wsgi(): return Wsgi()
def make_asgi(name="x"): return asyncio.run(later())
async def later(): return Asgi()
def fails(): raise ValueError("no luck")
class Application: __module__ = "aiohttp.web_app"
class Mine(Application): __module__ = "shop"
class Tornado: __module__, __qualname__ = "tornado.web", "Application"
aio = Mine()
def make_tornado(): return Tornado()
async def make_aio(): return Mine()
"""


def ran(tmp_path: Path, code: str, apps: str, app: str, **env: str) -> tuple[int, str]:
    """(status, what is printed) of code in an image for these apps, which are in a folder of their own."""
    own = (ROOT / "services/own/app.py").read_text()
    assert own.count('FOLDER = "/srv/app"') == 1
    own = own.replace("/srv/app", str(tmp_path / "folder"))
    written(tmp_path, {f"folder/{app.partition(':')[0]}.py": apps, "image/app.py": own})
    words, image = [sys.executable, "-c", code, "MARK"], tmp_path / "image"
    env |= {"APP": app}
    done = subprocess.run(words, cwd=image, env=env, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout or done.stderr


def imported(tmp_path: Path, name: str, apps: str = APPS) -> tuple[int, str]:
    """(status, what services/own/interface.py prints) of this app."""
    return ran(tmp_path, (ROOT / "services/own/interface.py").read_text(), apps, f"main:{name}")


@pytest.mark.parametrize(("name", "shown"), rows(__file__, "imported"))
def test_what_is_imported_says_what_it_is(tmp_path: Path, name: str, shown: str) -> None:
    assert imported(tmp_path, name) == (0, f"\nMARK {shown}\n")


def test_what_does_not_import_says_why(tmp_path: Path) -> None:
    status, words = imported(tmp_path, "fails()")
    assert status == 1 and words.endswith("ValueError: no luck\n")


def test_neither_what_an_app_prints_nor_its_threads_hide_its_interface(tmp_path: Path) -> None:
    apps = """
        import atexit, sys, threading, time
        print("MARK", "asgi x")
        sys.stdout = None
        atexit.register(lambda: print("too late"))
        threading.Thread(target=time.sleep, args=(99,)).start()
        def app(environ, start_response): ...
        """
    assert imported(tmp_path, "app", textwrap.dedent(apps))[1].splitlines()[-1] == "MARK wsgi main.app"


@pytest.mark.parametrize(
    ("interface", "code"), [("aiohttp", "await create_app()"), ("tornado", "await enter(create_app())")]
)
def test_app_and_factory_named_like_ours(tmp_path: Path, interface: str, code: str) -> None:
    serve = f"""
import asyncio
from app import create_app
async def enter(opened):
    async with opened as made: return made
async def serve(): print({code})
asyncio.run(serve())
"""
    apps = "async def create_app(): return 'made'"
    assert ran(tmp_path, serve, apps, "app:create_app", APP_INTERFACE=interface) == (0, "made\n")
