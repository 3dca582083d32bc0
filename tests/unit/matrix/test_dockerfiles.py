"""Images: what foreign code can reach while it is built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT

FILES = [*sorted((ROOT / "services").glob("*.Dockerfile")), *sorted(ROOT.glob("*/Dockerfile"))]
FOREIGN = re.compile(r"target=/(item|wheel|requirements)\b|from=app-locks")
"""Mounts of the steps that install or build what somebody else wrote."""


def steps(file: Path) -> list[str]:
    """The RUN instructions of a Dockerfile, each on one line, without here-documents."""
    return re.findall(r"^RUN .*$", file.read_text().replace("\\\n", " "), re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_caches_have_names_of_our_own_which_no_build_has_by_default(file: Path) -> None:
    caches = [mount for step in steps(file) for mount in re.findall(r"--mount=(type=cache\S*)", step)]
    assert all(re.search(r"(^|,)id=bench-", mount) for mount in caches), caches


def test_steps_that_run_foreign_code_have_no_cache() -> None:
    foreign = [step for file in FILES for step in steps(file) if FOREIGN.search(step)]
    assert len(foreign) == 4, foreign
    assert not [step for step in foreign if "type=cache" in step]


def test_an_apps_own_file_does_not_choose_where_its_requirements_come_from() -> None:
    """Of pyproject.toml, uv reads [tool.uv] as configuration and, apart from that, [tool.uv.sources]."""
    (resolving,) = [step for file in FILES for step in steps(file) if "uv pip compile" in step]
    assert {"UV_NO_CONFIG=1", "UV_NO_SOURCES=1"} <= set(resolving.partition("uv pip compile")[0].split())
