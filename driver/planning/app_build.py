"""Builds of a user's own app before its run is planned: its locks, and an image to import it in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from driver.failure import USER, Failure
from driver.planning.tools import bench, build, python_base

LOG = "app-build.log"


@dataclass(frozen=True)
class AppBuild:
    """The app in `folder`, which `out` in results/ describes, with the Debian packages `apt`."""

    root: Path
    folder: str
    out: Path
    apt: str

    def run(self, what: str, target: str, python: str, locks: Path, *words: str) -> None:
        """Builds a target of services/debian.Dockerfile; Failure with `what` and the cause, or else BuildKit's message.

        `locks`: the folder that lists the packages of the app's folder, and has the lock once there is one.
        """
        words = (*words, "--file", str(self.root / "services/debian.Dockerfile"), "--target", target)
        for name, place in (("requirements", self.out / "requirements"), ("locks", locks), ("source", self.folder)):
            words += ("--build-context", f"app-{name}={place}")
        words += (*python_base(self.root, python), *(("--build-arg", f"APT={self.apt}") if self.apt else ()))
        try:
            build(what, *words, str(self.root / "services"), log=self.out / LOG)
        except Failure as failure:
            cause = self.cause(target)
            (self.out / LOG).replace(self.root / "results" / LOG)
            why = f"{what}: {cause}" if cause else failure.words
            raise Failure(USER, f"{why} (the whole log is in results/{LOG})") from failure

    def cause(self, target: str) -> str:
        """The line of the log that says why, with what to give; empty if none does."""
        return bench(self.root, "own-build-cause", f"results/{self.out.name}", target).strip()
