"""What the setup says of the packages that a run compares."""

from __future__ import annotations

from typing import Any

from bench.run.reader import ServiceFacts
from bench.words.setup import package_facts


def entry(package: str | None, stack: str = "uvicorn-asgi") -> dict[str, Any]:
    return {"stack": stack, "python": "3.13", "base": "debian", "package": package}


def test_each_wheel_and_what_it_brought_with_it() -> None:
    wheel = {
        "package": "uvicorn==1.0+g1234567",
        "python": "py313",
        "from": "commit ./u@main",
        "sha256": "ab" * 32,
        "cause": "",
    }
    left = {
        "package": "",
        "name": "uvicorn",
        "python": "py313",
        "from": "the release",
        "sha256": "",
        "cause": "no such release",
    }
    listed = {
        "a": entry(None),
        "b": entry("uvicorn==1.0+g1234567"),
        "c": entry("uvicorn==2.0"),
        "d": entry("x==1", "other"),
    }
    packages = {
        "a": {"uvicorn": "0.9", "h11": "0.16", "click": "8"},
        "b": {"uvicorn": "1.0", "h11": "0.14", "click": "8", "new": "1"},
        "c": {"uvicorn": "2.0", "h11": "0.16", "click": "8"},
        "d": {"h11": "1"},
    }
    services = {name: ServiceFacts(name=name, packages=own) for name, own in packages.items()}
    assert [*package_facts({"packages": [wheel, left], "services": listed}, services)] == [
        "uvicorn==1.0+g1234567 on py313: commit ./u@main; wheel abababababab",
        "uvicorn on py313: the release; left out: no such release",
        "b also has other dependencies than a: h11 0.14 (there 0.16), new 1 (there none)",
    ]


def test_of_a_service_that_was_not_built_nothing_is_said() -> None:
    services = {"a": ServiceFacts(name="a", packages={"h11": "1"}), "b": ServiceFacts(name="b")}
    assert [*package_facts({"services": {"a": entry(None), "b": entry("u==1")}}, services)] == []
