"""A run from the host's view: its folder, project, settings and services."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from driver.failure import USER, Failure
from driver.files import text_of
from driver.messages import DEPENDENCIES, RUN_JSON, OwnApp, Service, facts_of, read

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "com.docker.compose.project"
"""The label by which everything of a run is found; Compose sets it too."""


@dataclass(frozen=True)
class Run:
    """`settings`: the environment, overridden by the run's knobs.env.

    `dependencies`: services that run as long as the run: load generator, database, upstream, and own-NAME of a user's
    app. `lane`: the number of a pair of nodes, in a run on several; each lane has its own folder and Compose project.
    """

    root: Path
    name: str
    project: str
    settings: Mapping[str, str]
    services: Mapping[str, Service]
    own_app: OwnApp | None = None
    dependencies: tuple[str, ...] = DEPENDENCIES
    lane: int = 1

    @property
    def folder(self) -> Path:
        """results/RUN_JSON."""
        return self.root / "results" / self.name

    @property
    def lane_folder(self) -> Path:
        """The lane's own folder; that of the first lane is the run's."""
        return self.folder if self.lane == 1 else self.folder / "lanes" / str(self.lane)

    @property
    def containers(self) -> tuple[str, ...]:
        """The services that the run starts."""
        return tuple(name for name, service in self.services.items() if not service.url)

    @property
    def targets(self) -> tuple[str, ...]:
        """The servers that already run (--target)."""
        return tuple(name for name, service in self.services.items() if service.url)

    @property
    def source_images(self) -> tuple[str, ...]:
        """The images that are removed with the run: those with a package built from source (version `...+...`)."""
        return tuple(dict.fromkeys(service.image for service in self.services.values() if "+" in service.package))

    @property
    def own_services(self) -> tuple[str, ...]:
        """The Compose services that a user's app depends on."""
        return tuple(name for name in self.dependencies if name.startswith("own-"))

    @property
    def label(self) -> str:
        """The label of all containers, networks and volumes of the run or lane."""
        return f"{PROJECT}={self.project}"

    def setting(self, name: str, default: str = "") -> str:
        """A setting's value."""
        return self.settings.get(name) or default

    def container(self, service: str, number: int = 1) -> str:
        """The name that Compose gives to its container."""
        return f"{self.project}-{service}-{number}"

    def service_folder(self, service: str) -> Path:
        """The folder of raw files about the service itself rather than a measurement."""
        return self.folder / "raw" / "services" / service

    def failed(self, service: str) -> bool:
        """Whether the service has failed, so that it is not loaded."""
        return (self.service_folder(service) / "failure.json").exists()

    def on_lane(self, lane: int) -> Run:
        """The same run on another pair of nodes."""
        first = self.project if self.lane == 1 else self.project.rpartition("-lane")[0]
        return replace(self, lane=lane, project=first if lane == 1 else f"{first}-lane{lane}")


def open_run(name: str, root: Path | None = None) -> Run:
    """The run in results/NAME; Failure if there is none."""
    root = root or Path(os.environ.get("BENCH_ROOT") or ROOT)
    folder = root / "results" / name
    if (facts := read(folder / RUN_JSON)) is None:
        raise Failure(USER, f"results/{name} is not a run that can be measured: it has no {RUN_JSON}")
    # Run names contain the time, so two clones may have runs of the same name; the checksum of the path differs.
    project = os.environ.get("BENCH_PROJECT") or f"bench-{name}-{zlib.crc32(str(folder).encode())}"
    knobs = (line.split("=", 1) for line in (text_of(folder / "knobs.env") or "").splitlines() if "=" in line)
    services, own_app = facts_of(facts)
    own = own_app.services if own_app else ()
    # A user's own service of the same name takes the place of ours.
    dependencies = (*(name for name in DEPENDENCIES if name not in own), *(f"own-{name}" for name in own))
    return Run(root, name, project, {**os.environ, **dict(knobs)}, services, own_app, dependencies)
