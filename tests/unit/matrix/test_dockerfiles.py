"""Images: what foreign code can reach while it is built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT

FILES = [*sorted((ROOT / "services").glob("*.Dockerfile")), *sorted(ROOT.glob("*/Dockerfile"))]
FOREIGN = re.compile(r"target=/(item|wheels?|requirements|with_package)\b|from=app-locks")
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
    assert len(foreign) == 7 and not [step for step in foreign if "type=cache" in step], foreign


def test_debian_packages_are_installed_before_an_apps_code_runs_and_share_no_cache() -> None:
    lines = (ROOT / "services/debian.Dockerfile").read_text().replace("\\\n", " ").splitlines()
    stages = {"own-app": "from=app-locks", "app-wheels": "from=app-source", "resolved": "from=app-requirements"}
    for stage, foreign in stages.items():
        begin = next(number for number, line in enumerate(lines) if line.endswith(f"AS {stage}"))
        own = [line for line in lines[begin:] if line.startswith("RUN ")]
        (number,) = [number for number, line in enumerate(own[:3]) if "install-packages" in line]
        assert "cache" not in own[number] and foreign in own[number + 1], stage
    script = (ROOT / "services/own/install-packages").read_text()
    assert script.index("update") < script.index("install --yes") < script.index("rm -rf /var/lib/apt/lists/*")


def test_an_apps_own_file_does_not_choose_where_its_requirements_come_from() -> None:
    """Of pyproject.toml, uv reads [tool.uv] as configuration and, apart from that, [tool.uv.sources]."""
    (resolving,) = [step for file in FILES for step in steps(file) if "uv pip compile" in step]
    assert {"UV_NO_CONFIG=1", "UV_NO_SOURCES=1"} <= set(resolving.partition("uv pip compile")[0].split())


def test_the_packages_of_an_apps_folder_are_built_once_for_all_that_use_them() -> None:
    """BuildKit does so if a stage is the same in the build of the locks and in those of all servers."""
    text = (ROOT / "services/debian.Dockerfile").read_text()
    (stage,) = re.findall(r"^FROM \S+ AS app-wheels\n(.*?)^FROM ", text, re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"^ARG (\w+)", stage, re.MULTILINE)) == {"APT"}
    assert set(re.findall(r"from=([\w-]+)", stage)) == {"headers", "app-locks", "app-source"}
    # Of the lock's folder, only what is the same before there is a lock.
    assert "from=app-locks,source=projects.txt," in stage and "COPY --from=app-requirements /projects.txt" in text
    # A folder without its repository has a version all the same.
    assert "--exclude-vcs" in stage and "SETUPTOOLS_SCM_PRETEND_VERSION=" in stage
