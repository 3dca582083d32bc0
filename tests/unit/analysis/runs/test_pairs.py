"""Which services are compared, also in a run whose plan does not list pairs."""

from __future__ import annotations

from typing import Any

from bench.analysis.services import pairs_of
from bench.run.facts import run_facts_of


def service(stack: str, package: str | None = None, **place: str) -> dict[str, Any]:
    return {"stack": stack, "python": "3.13", "base": "debian", "settings": None, "package": package} | place


def test_each_version_is_compared_with_the_first_one_of_its_service() -> None:
    services = {f"a-{version}": service("a", f"p=={version}") for version in (1, 2, 3)}
    services |= {"b": service("b"), "b-2": service("b", "p==2"), "b-2-314": service("b", "p==2", python="3.14")}
    services |= {"c": service("c"), "c-x": service("c", settings="THREADS=2")}
    assert pairs_of(run_facts_of({"services": services})) == (("a-1", "a-2"), ("a-1", "a-3"), ("b", "b-2"))
    assert pairs_of(run_facts_of({"services": services, "pairs": [["a-2", "a-1"]]})) == (("a-2", "a-1"),)
    assert pairs_of(run_facts_of({"services": {"a": service("a"), "b": service("b")}})) == ()
