"""Prepares a user's own app before its run is planned: checks that need no image, its description and its locks."""

from __future__ import annotations

import filecmp
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from driver.failure import USER, Failure, say
from driver.planning.compose_file import read_compose
from driver.planning.tools import bench, build, python_base

OPTIONS = ("interface", "requirements", "targets", "expect", "env-file", "before", "compose", "head")
"""Options besides --app; --head is the app at the second of two refs (scripts/compare.sh)."""
READ = ("requirements", "targets", "expect", "env-file")
"""Options that name a file for the description to read."""
ON_HOST = (*READ, "before", "compose", "head")
"""Options that read files or run commands: a repetition names those that it takes over."""
UV = "uv==0.13.8"
"""Resolves and pins requirements; a test compares it with scripts/lock.sh."""


def prepare_own_app(
    root: Path, own: Mapping[str, str], selection: Sequence[str], again_folder: str, files: ExitStack
) -> list[str]:
    """Describes the app, and the one at the second ref; returns the options that add them to the selection.

    `again_folder`: the folder of a repeated run, whose locks are used if the app's requirements are the same. `files`
    removes the files made here.
    """
    if "app" not in own:
        raise Failure(USER, f"--{' '.join(own)} needs --app FOLDER MODULE:CALLABLE")
    folders = {"own-app": own["folder"], **({"own-head": own["head"]} if own.get("head") else {})}
    described = {}
    for option, folder in folders.items():
        if not Path(folder).is_dir():
            raise Failure(USER, f"--app: there is no folder '{folder}'")
        described[option] = _describe(root, {**own, "folder": str(Path(folder).resolve())}, selection, files)
        _lock(root, *described[option], again_folder)
    return [f"--{option}=results/{out.name}" for option, (out, _) in described.items()]


def _describe(root: Path, own: Mapping[str, str], selection: Sequence[str], files: ExitStack) -> tuple[Path, str]:
    """A folder with the description, and one line per Python: label and version."""
    mounts = _mount(Path(own["folder"]), "/own/source")
    words = ["--folder", own["folder"], "--app", own["app"], "--source", "/own/source"]
    words += ["--project", str(root)]
    if Path(own["folder"], ".dockerignore").is_file():
        say(f"{own['folder']}: what .dockerignore lists is not in the app's images")
    for name in ("interface", "before"):
        words += [f"--{name}", own[name]] if own.get(name) else []
    for name in READ:
        if own.get(name):
            file = _file(name, own[name])
            # Mount its whole folder, because it may refer to other files there.
            mounts += _mount(file.parent, f"/own/{name}")
            words += [f"--{name}", str(file), f"--{name}-here", f"/own/{name}/{file.name}"]
    compose = _file("compose", own["compose"]) if own.get("compose") else None
    if "--target" in selection:
        bench(root, "target-check", *selection)
    out = Path(tempfile.mkdtemp(prefix=".app-", dir=root / "results"))
    files.callback(shutil.rmtree, out, ignore_errors=True)
    if compose:
        resolved = read_compose(compose, _file("env-file", own["env-file"]) if own.get("env-file") else None)
        (out / "compose.json").write_text(json.dumps(resolved))
        words += ["--compose", str(compose), "--compose-resolved", f"results/{out.name}/compose.json"]
    for name, value in zip(selection, [*selection[1:], ""]):
        words += ["--python", value] if name == "--python" else [name] if name.startswith("--python=") else []
    return out, bench(root, "own-app", f"results/{out.name}", *words, docker_options=mounts)


def _file(option: str, name: str) -> Path:
    if not Path(name).is_file():
        raise Failure(USER, f"--{option}: there is no file '{name}'")
    return Path(name).resolve()


def _mount(folder: Path, place: str) -> list[str]:
    """Options for a read-only mount, quoted so that any file name works."""
    source = str(folder).replace('"', '""')
    return ["--mount", f'type=bind,"source={source}",target={place},readonly']


def _lock(root: Path, out: Path, pythons: str, again_folder: str) -> None:
    """Locks the app's requirements for each Python; Failure with the resolver's message if it finds no solution."""
    (out / "locks").mkdir()
    then = root / again_folder / "app" if again_folder else None
    for line in pythons.splitlines():
        label, python = line.split()
        if then and (then / "locks" / label).is_dir() and _equal(then / "requirements", out / "requirements"):
            shutil.copytree(then / "locks" / label, out / "locks" / label)
            continue
        base = python_base(root, python)
        say(f"resolving what the app needs on Python {python}")
        words = ["--file", str(root / "services/debian.Dockerfile"), "--target", "app-lock", *base]
        words += ["--build-arg", f"UV={UV}", "--build-context", f"app-requirements={out / 'requirements'}"]
        words += ["--output", f"type=local,dest={out / 'locks' / label}", str(root / "services")]
        build("the app's requirements cannot be resolved", *words, log=out / "lock.log")


def _equal(one: Path, other: Path) -> bool:
    """Whether two folders have equal files; one that is no regular file equals none."""
    names, others = ({file.name for file in folder.glob("*")} for folder in (one, other))
    return names == others and filecmp.cmpfiles(one, other, names, shallow=False)[1:] == ([], [])
