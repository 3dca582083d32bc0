"""Prepares a user's own app before its run is planned: checks that need no image, its description and its locks."""

from __future__ import annotations

import filecmp
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from driver.failure import USER, Failure, say
from driver.files import last_line, text_of
from driver.planning.app_build import LOG, AppBuild
from driver.planning.compose_file import read_compose
from driver.planning.interface import imported_interface
from driver.planning.tools import bench

OPTIONS = ("interface", "requirements", "targets", "expect", "env-file", "before", "apt", "compose", "head", "origin")
"""Options besides --app; of two refs (scripts/compare.sh), --head is the app at the second, --origin its own folder."""
READ = ("requirements", "targets", "expect", "env-file")
"""Options that name a file for the description to read."""
ON_HOST = (*READ, "before", "compose", "head")
"""Options that read files or run commands: a repetition names those that it takes over."""
WORKSPACE = ("pyproject.toml", "uv.lock")
"""The files of a uv workspace that its members share."""


def prepare_own_app(
    root: Path, options: Mapping[str, str], selection: Sequence[str], again_folder: str, files: ExitStack
) -> list[str]:
    """Describes the app, and the one at the second ref; returns the options that add them to the selection.

    `again_folder`: the folder of a repeated run, whose locks are used if the app's requirements are the same. `files`
    removes the files made here.
    """
    if "app" not in options:
        raise Failure(USER, f"--{' '.join(options)} needs --app FOLDER MODULE:CALLABLE")
    folders = {"own-app": options["folder"], **({"own-head": options["head"]} if options.get("head") else {})}
    described, apt = {}, " ".join(options.get("apt", "").replace(",", " ").split())
    if missing := [folder for folder in folders.values() if not Path(folder).is_dir()]:
        raise Failure(USER, f"--app: there is no folder '{missing[0]}'")
    if selection:
        bench(root, "own-selection", *selection)
    for option, folder in folders.items():
        there = str(Path(folder).resolve())
        out, describe = _describer(root, {**options, "folder": there}, selection, files)
        pythons = [line.split() for line in describe().splitlines()]
        app = AppBuild(root, there, out, apt)
        _lock(app, pythons, again_folder)
        if not json.loads((out / "app.json").read_text())["interface"]:
            describe("--imported", imported_interface(app, *pythons[0]))
        described[option] = out
    return [f"--{option}=results/{out.name}" for option, out in described.items()]


def _describer(
    root: Path, options: Mapping[str, str], selection: Sequence[str], files: ExitStack
) -> tuple[Path, Callable[..., str]]:
    """A folder, and what describes the app in it, with further words: it returns a line per Python, label and version.

    The description has no interface if the app's source does not show it.
    """
    mounts = _mount(Path(options["folder"]), "/own/source")
    words = ["--folder", options["folder"], "--app", options["app"], "--source", "/own/source"]
    words += ["--project", str(root)]
    if workspace := _workspace(Path(options["folder"])):
        for name in WORKSPACE:
            mounts += _mount(workspace / name, f"/own/workspace/{name}")
        words += ["--workspace-here", "/own/workspace", "--place", str(Path(options["folder"]).relative_to(workspace))]
    if Path(options["folder"], ".dockerignore").is_file():
        say(f"{options['folder']}: what .dockerignore lists is not in the app's images")
    for name in ("interface", "before", "apt"):
        words += [f"--{name}", options[name]] if options.get(name) else []
    for name in READ:
        if options.get(name):
            file = _file(name, options[name])
            # Mount its whole folder, because it may refer to other files there.
            mounts += _mount(file.parent, f"/own/{name}")
            words += [f"--{name}", str(file), f"--{name}-here", f"/own/{name}/{file.name}"]
    compose, names = _compose(options["compose"]) if options.get("compose") else (None, "")
    out = Path(tempfile.mkdtemp(prefix=".app-", dir=root / "results"))
    files.callback(shutil.rmtree, out, ignore_errors=True)
    if compose:
        env_file = _file("env-file", options["env-file"]) if options.get("env-file") else None
        # Of two refs, the folders are checkouts.
        app = Path(options.get("origin") or options["folder"])
        resolved = read_compose(compose, env_file, app=app, names=names.split(",") if names else ())
        (out / "compose.json").write_text(json.dumps(resolved))
        words += ["--compose", f"{compose}{names and ':'}{names}"]
        words += ["--compose-resolved", f"results/{out.name}/compose.json"]
    for name, value in zip(selection, [*selection[1:], ""]):
        words += ["--python", value] if name == "--python" else [name] if name.startswith("--python=") else []
    return out, partial(bench, root, "own-app", f"results/{out.name}", *words, docker_options=mounts)


def _workspace(folder: Path) -> Path | None:
    """The nearest folder above the app's, in its repository, with the files of a uv workspace; None if none has."""
    for above in () if (folder / ".git").exists() else folder.parents:
        if all((above / name).is_file() and not (above / name).is_symlink() for name in WORKSPACE):
            return above
        if (above / ".git").exists():
            break
    return None


def _file(option: str, name: str) -> Path:
    if not Path(name).is_file():
        raise Failure(USER, f"--{option}: there is no file '{name}'")
    return Path(name).resolve()


def _compose(given: str) -> tuple[Path, str]:
    """The file, and the names of services, of --compose FILE:NAME,NAME."""
    file, colon, names = ("", "", "") if Path(given).is_file() else given.rpartition(":")
    return _file("compose", file if colon else given), names


def _mount(folder: Path, place: str) -> list[str]:
    """Options for a read-only mount, quoted so that any file name works."""
    source = str(folder).replace('"', '""')
    return ["--mount", f'type=bind,"source={source}",target={place},readonly']


def _lock(app: AppBuild, pythons: Sequence[Sequence[str]], again_folder: str) -> None:
    """Locks the app's requirements for each Python; Failure with the cause if it cannot."""
    (app.out / "locks").mkdir()
    then = app.root / again_folder / "app" if again_folder else None
    requirements = app.out / "requirements"
    versions = re.search("^# (.*)", text_of(requirements / ".constraints.txt") or "", re.MULTILINE)
    how = f" with the versions of {versions[1]} (without them: --requirements FILE)" if versions else ""
    for label, python in pythons:
        lock = app.out / "locks" / label
        if then and (then / "locks" / label).is_dir() and _equal(then / "requirements", requirements):
            shutil.copytree(then / "locks" / label, lock)
            continue
        say(f"resolving what the app needs on Python {python}")
        if text_of(requirements / "projects.txt"):
            what = "a package of the app's folder cannot be built"
            app.run(what, "app-wheels", python, requirements, "--output", "type=cacheonly")
        words = ("--output", f"type=local,dest={lock}")
        # The list of the folder's packages is in the lock, which is only made here.
        app.run(f"the app's requirements cannot be resolved{how}", "app-lock", python, requirements, *words)
        if failed := text_of(lock / "failed.txt"):
            # As in a log of BuildKit.
            (app.out / LOG).write_text(re.sub("^(?=.)", "#1 0.1 ", failed, flags=re.MULTILINE))
            cause = app.cause("app-wheels") or last_line(lock / "failed.txt")[:300]
            say(f"{app.folder} is on the path, but not installed: its wheel cannot be built: {cause}")


def _equal(first: Path, other: Path) -> bool:
    """Whether two folders have equal files; one that is no regular file equals none."""
    names, others = ({file.name for file in folder.glob("*")} for folder in (first, other))
    return names == others and filecmp.cmpfiles(first, other, names, shallow=False)[1:] == ([], [])
