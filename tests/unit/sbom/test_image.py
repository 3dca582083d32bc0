"""The bill of materials of an image: the packages in its databases, as a document that matches CycloneDX's schema."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.sbom.__main__ import main
from tests.sbom.image import SCHEMA, document, os_release, summary

IMAGE = {
    "Id": "sha256:5e",
    "RepoTags": ["bench/app:latest"],
    "Created": "2026-01-02T03:04:05.678901234Z",
    "RepoDigests": [],
}
DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
ALPINE = 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.24.1\n'


def collected(release: str = DEBIAN, os: str = "", python: str = "", go: str = "", **image: Any) -> str:
    return "\f".join([json.dumps([IMAGE | image]), release, os, python, go])


def valid(written: str) -> bool:
    """Whether it matches CycloneDX's schema."""
    # Imported here, because the import takes a second and each process of pytest imports this file.
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SCHEMA).validate_str(written) is None


def made(text: str) -> dict[str, Any]:
    written = document(text)
    assert valid(written)
    found: dict[str, Any] = json.loads(written)
    return found


def urls(found: dict[str, Any]) -> list[str]:
    return sorted(one["purl"] for one in found["components"] if "purl" in one)


def test_each_package_is_listed_once_by_its_url() -> None:
    python = "Flask\t3.1.2\nruamel.yaml\t0.18\nFlask\t3.1.2\n"
    go = "github.com/tsenart/vegeta/v12\tv12.13.0\n"
    text = collected(os="libc6\t2.41-12\tamd64\nadduser\t3.152\tall\n", python=python, go=go)
    found = made(text)
    assert urls(found) == [
        "pkg:deb/debian/adduser@3.152?arch=all&distro=debian-13",
        "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=debian-13",
        "pkg:golang/github.com/tsenart/vegeta/v12@v12.13.0",
        "pkg:pypi/flask@3.1.2",
        "pkg:pypi/ruamel-yaml@0.18",
    ]
    assert summary(document(text)) == "2 deb, 2 pypi, 1 golang"


def test_the_root_is_the_image_and_depends_on_all() -> None:
    found = made(collected(python="flask\t3.1.2\n", RepoDigests=["bench/app@sha256:d1"]))
    root = found["metadata"]["component"]
    assert (root["type"], root["name"], root["version"]) == ("container", "bench/app", "sha256:5e")
    assert root["properties"] == [{"name": "docker:repo_digest", "value": "bench/app@sha256:d1"}]
    (needs,) = [one["dependsOn"] for one in found["dependencies"] if one["ref"] == "sha256:5e"]
    assert needs == ["os:debian@13", "pkg:pypi/flask@3.1.2"]


def test_no_digest_is_made_up() -> None:
    assert "properties" not in made(collected())["metadata"]["component"]


def test_alpine() -> None:
    assert urls(made(collected(ALPINE, os="musl\t1.2.5-r21\tx86_64\n"))) == [
        "pkg:apk/alpine/musl@1.2.5-r21?arch=x86_64&distro=alpine-3.24.1"
    ]


def test_a_release_without_a_number_has_its_code_name() -> None:
    forky = "# testing\nID=debian\nVERSION_CODENAME=forky\n"
    assert os_release(forky)["VERSION_CODENAME"] == "forky"
    assert "distro=debian-forky" in urls(made(collected(forky, os="libc6\t2.42\tamd64\n")))[0]


def test_the_same_image_gives_the_same_bytes() -> None:
    text = collected(os="b\t1\tall\na\t1\tall\n")
    assert document(text) == document(collected(os="a\t1\tall\nb\t1\tall\n"))
    assert '"timestamp": "2026-01-02T03:04:05+00:00"' in document(text)


def test_what_the_schema_refuses_is_found() -> None:
    broken = json.loads(document(collected()))
    broken["components"][0]["type"] = "thing"
    assert not valid(json.dumps(broken))


def test_the_verb(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(collected(python="flask\t3.1.2\n")))
    assert main("app") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["bomFormat"] == "CycloneDX"
    assert printed.err == "app: 1 pypi\n"
