"""A repository's own Compose file: which of its services an app's run takes, and all that is wrong with these."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, refused

from bench.core.errors import UserError
from bench.own_app.compose_file import own_services
from driver.failure import Failure
from driver.messages import FAULTS
from driver.planning import compose_file
from driver.planning.compose_file import read_compose
from driver.planning.own_app import _compose

Services = Mapping[str, Mapping[str, Any]]


class File:
    """A Compose file, as Docker Compose resolves it: `profiled` are services that have a profile."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.profiled, self.more = folder, dict[str, Any](), dict[str, Any]()
        (folder / "backend/app").mkdir(parents=True)
        monkeypatch.setattr(compose_file, "_alone", lambda _: None)
        monkeypatch.setattr(compose_file, "_config", self.config)

    def config(self, file: Path, *words: str) -> dict[str, Any]:
        profiles = "--profile" in words
        return {"services": {**self.services, **(self.profiled if profiles else {})}, **self.more}

    def read(self, *names: str, app: str = "backend", **services: Any) -> dict[str, Any]:
        """The file with these services, or those of `names`, for an app in the folder `app`."""
        self.services = {name: dict(service) for name, service in services.items()}
        return read_compose(self.folder / "compose.yml", None, app=self.folder / app, names=names)

    def built(self, context: str, *needs: str, **more: Any) -> dict[str, Any]:
        return {"build": {"context": str(self.folder / context)}, **needing(*needs), **more}

    def mounting(self, source: str) -> dict[str, Any]:
        return {"type": "bind", "source": str(self.folder / source), "target": "/x", "bind": {"create_host_path": True}}


def needing(*names: str, **rule: Any) -> dict[str, Any]:
    return {"depends_on": {name: {"condition": "service_started", "required": True, **rule} for name in names}}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> File:
    return File(tmp_path.resolve(), monkeypatch)


DB = {"image": "postgres:18", "ports": [{"target": 5432}]}


def test_the_app_and_what_stands_in_front_of_it_are_left_out_and_said(file: File, capsys: Capture) -> None:
    found = file.read(
        nginx={"image": "nginx", **needing("web")},
        tests={"image": "playwright", "ipc": "host", **needing("nginx")},
        web=file.built("backend", "db", image="shop", privileged=True, ports=[{"target": 8000}]),
        worker={"image": "shop", **needing("db")},
        assets={"image": "node", "volumes": [file.mounting(".")]},
        db=DB,
        cache=file.built("cache"),
        admin={"image": "adminer", **needing("db"), **needing("web", required=False)},
    )
    # `cache` has a folder of its own, which is not there.
    assert list(found["services"]) == ["db", "cache", "admin"]
    assert found[FAULTS] == [f"service 'cache' is built from {file.folder}/cache, which is not there"]
    assert capsys.readouterr().err == (
        "--compose: left out: web (is built from the app's folder), assets (mounts the app's folder), worker (has the"
        " image of web), nginx (depends on web), tests (depends on nginx); --compose compose.yml:NAME,NAME takes those"
        " that you name, of admin, assets, cache, db, nginx, tests, web, worker\n"
    )


@pytest.mark.parametrize(
    ("context", "app", "left"),
    [(".", "backend", []), ("backend", "backend", []), ("backend/app", "backend", ["x"]), ("backend", ".", ["x"])],
)
def test_a_folder_is_the_apps_if_the_app_is_in_it(file: File, context: str, app: str, left: list[str]) -> None:
    assert list(file.read(x=file.built(context), db=DB, app=app)["services"]) == [*left, "db"]


def test_a_link_to_the_apps_folder_is_that_folder_and_a_dollar_is_doubled(file: File) -> None:
    (file.folder / "a$b").symlink_to("backend")
    assert list(file.read(x=file.built("a$$b"), db=DB)["services"]) == ["db"]


def test_named_services_are_taken_with_what_they_need_whatever_they_are(file: File, capsys: Capture) -> None:
    file.profiled = {"queue": {"image": "redis", **needing("db")}, "web": file.built("backend")}
    services = {"db": DB, "proxy": {"image": "traefik", "volumes": [file.mounting("/run/docker.sock")]}}
    assert list(file.read("queue", **services)["services"]) == ["db", "queue"]
    assert list(file.read("web", **services)["services"]) == ["web"] and not capsys.readouterr().err
    with pytest.raises(
        Failure, match=r"there is no service x, y: --compose compose.yml:NAME,NAME takes .* of db, proxy, queue, web$"
    ):
        file.read("x", "db", "y", **services)


def test_a_file_that_has_nothing_but_the_app_or_profiles_says_how_to_name_services(file: File) -> None:
    file.profiled = {"db": DB}
    for services in ({}, {"web": file.built("backend")}):
        with pytest.raises(Failure, match=r"every service has a profile, or is the app: --compose compose.yml:NAME"):
            file.read(**services)


def test_what_only_services_share_that_are_left_out_is_left_out(file: File) -> None:
    file.more = {"volumes": {"data": None, "media": {"external": True}}}
    file.more["secrets"] = {"key": {"file": "/etc/shadow"}, "password": {"file": str(file.folder / "gone")}}
    data = {"volumes": [{"type": "volume", "source": "data"}, {"type": "volume"}], "secrets": [{"source": "password"}]}
    web = file.built("backend", volumes=[{"type": "volume", "source": "media"}], secrets=[{"source": "key"}])
    found = file.read(db={**DB, **data}, web=web)
    assert (list(found["volumes"]), list(found["secrets"])) == (["data"], ["password"])
    assert found[FAULTS] == [f"the secret 'password' reads {file.folder}/gone, which is not there"]


def test_a_mounted_folder_that_is_not_there_is_an_empty_volume(file: File, capsys: Capture) -> None:
    (file.folder / "init").mkdir()
    found = file.read(db={**DB, "volumes": [file.mounting("data"), file.mounting("init")]})
    data, init = own_services(found)["services"]["own-db"]["volumes"]
    assert data == {"type": "volume", "target": "/x"}
    assert (init["source"], init["read_only"]) == (str(file.folder / "init"), True)
    assert capsys.readouterr().err == (
        f"--compose: service 'db' mounts {file.folder}/data, which is not there: it gets an empty volume\n"
    )


def test_all_that_is_wrong_is_said_at_once(file: File) -> None:
    mounts = [file.mounting("/run/docker.sock"), file.mounting("../x")]
    proxy = {"image": "traefik", "privileged": True, "volumes": mounts}
    assert str(refused(UserError, own_services, file.read(proxy=proxy, db={**DB, "pid": "host"}))) == (
        "--compose: service 'proxy' mounts /run/docker.sock, which is outside of the file's own folder;"
        f" service 'proxy' mounts {file.folder}/../x, which is outside of the file's own folder;"
        " service 'proxy' is privileged (privileged); service 'db' shares a PID namespace (pid);"
        " remove that, or name the services that the app needs: --compose FILE:NAME,NAME"
    )


def test_files_outside_of_the_folder_are_refused_before_resolving(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    (file.folder / ".env").symlink_to("/etc/passwd")
    asked: list[bool] = []
    monkeypatch.setattr(compose_file, "_config", lambda *to: asked.append("--no-interpolate" in to) or file.config(*to))
    services = {"web": {"env_file": ["../a", {"path": "$B/x"}]}, "db": {"env_file": "/c"}}
    assert refused(Failure, file.read, **services).words == (
        "--compose: service 'web' reads ../a, which is outside of the file's own folder; service 'web' reads $B/x: name"
        " its env_file without a variable; service 'db' reads /c, which is outside of the file's own folder; it reads"
        " .env, which is outside of the file's own folder; remove that"
    )
    assert asked == [True]


@pytest.mark.parametrize("file", ["c.yml", "a:b.yml"])
@pytest.mark.parametrize("names", ["", "db", "db,redis"])
def test_named_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, names: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).touch()
    assert _compose(f"{file}:{names}" if names else file) == (tmp_path.resolve() / file, names)
