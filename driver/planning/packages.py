"""Copies the sources of --package and --with, so that all Pythons get the same, and builds wheels before the plan."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from driver.failure import RUN, USER, Failure, say
from driver.planning.tools import asked, bench, build, commit_of, done_by_git, git, python_base

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
VERSION = re.compile(r"([0-9][A-Za-z0-9.!+]*(\.\*)?|last:[1-9][0-9]?)")
ARCHIVE = re.compile(r"\.(tar\.[a-z0-9]+|tgz|zip)$")
LEFT_BY_TOOLS = ("__pycache__", ".venv", "node_modules")
HISTORY = ("HEAD", "index", "info", "modules", "objects", "packed-refs", "refs", "shallow")
"""What a git folder needs for versions from tags; `modules` has those of its submodules."""
TOGETHER = "--with"
"""The option whose packages are changed together with each version of those of --package."""


def prepare_packages(
    root: Path, packages: Sequence[str], together: Sequence[str], selection: Sequence[str], files: ExitStack
) -> str:
    """Builds wheels for each Python; returns the option that adds them to the selection. `files` removes them."""
    pythons = [line.split() for line in bench(root, "package-pythons", *selection).splitlines()]
    folder = Path(tempfile.mkdtemp(prefix=".packages-", dir=root / "results"))
    files.callback(shutil.rmtree, folder, ignore_errors=True)
    (folder / "out").mkdir()
    specs = [*packages, *together]
    for number, spec in enumerate(specs):
        take_package(folder / "items" / str(number), spec, "--package" if number < len(packages) else TOGETHER)
    for label, python in pythons:
        base = python_base(root, python)
        say(f"getting wheels of {' '.join(specs)} for Python {python}")
        # ASKED_AT defeats the build cache, so that releases are looked up each time.
        words = ["--file", str(root / "services/package.Dockerfile"), *base]
        words += [f"--build-arg=ASKED_AT={time.time_ns()}", f"--build-arg=BUILD_PACKAGES={_build_packages(root)}"]
        for item in sorted((folder / "items").iterdir()):
            # Each by itself: the build of one could make the wheel of another.
            made = folder / "made" / label / item.name
            own = [f"--build-arg=NUMBER={item.name}", "--output", f"type=local,dest={made}", str(item)]
            build("--package: the wheels cannot be built", *words, *own, log=folder / "build.log", status=RUN)
            (folder / "out" / label).mkdir(exist_ok=True)
            for wheels in made.glob(f"{item.name}-*"):
                wheels.rename(folder / "out" / label / wheels.name)
    place = f"results/{folder.name}"
    bench(root, "packages", f"{place}/items", f"{place}/out", *(label for label, _ in pythons))
    return f"--packages-in={place}/out"


def _build_packages(root: Path) -> str:
    """The Debian packages that servers need to build: other packages may need them too."""
    texts = (path.read_text() for path in sorted((root / "services/servers").glob("*/server.toml")))
    lists = re.findall(r"debian = \{ build = \[([^]]*)\]", "".join(texts))
    return " ".join(re.sub(r'[",]', " ", " ".join(lists)).split())


def take_package(folder: Path, spec: str, option: str = "--package") -> None:
    """Writes what a container builds from into the folder: `spec`, `kind`, and `releases`, a file, or `source`.

    If the option is `TOGETHER`, it is a single version, and there is a file `together`.
    """
    folder.mkdir(parents=True)
    (folder / "spec").write_text(spec)
    if option == TOGETHER:
        (folder / "together").write_text("yes")
    repository, at, ref = spec.removeprefix("git+file://").rpartition("@")
    if not is_source(spec):
        kind, releases = _releases(spec, option)
        if option == TOGETHER and kind != "release":
            raise Failure(USER, f"{option} '{spec}': give one version, NAME==21.2.0")
        (folder / "releases").write_text("".join(f"{line}\n" for line in releases))
    elif Path(spec).is_file() and (spec.endswith(".whl") or ARCHIVE.search(spec)):
        kind = "wheel" if spec.endswith(".whl") else "sdist"
        shutil.copy(spec, folder)
    elif spec and Path(spec).is_dir():
        kind = "folder"
        _take_folder(folder, Path(spec).resolve())
    elif at and ref and Path(repository).is_dir():
        kind = "commit"
        _take_commit(folder, f"{option} '{spec}'", Path(repository), ref)
    elif spec.endswith(".whl") or ARCHIVE.search(spec):
        raise Failure(USER, f"{option}: there is no file '{spec}'")
    else:
        words = f"{option} '{spec}' is not NAME==X, and there is no such folder or repository; see --help"
        raise Failure(USER, words)
    (folder / "kind").write_text(kind)


def is_source(spec: str) -> bool:
    """Whether it is built from files of this machine, not taken from the package index."""
    return not re.match(f"{NAME}==", spec)


def _releases(spec: str, option: str) -> tuple[str, list[str]]:
    """Whether this is a `release` (NAME==X) or a `ladder` (NAME==21.*,22.*,23.1.0 or NAME==last:10), and its parts."""
    parts, lines = spec.split(","), []
    name = ""
    for part in parts:
        if "==" in part:
            name = part.partition("==")[0]
        version = part.removeprefix(f"{name}==")
        if not (VERSION.fullmatch(version) and re.fullmatch(NAME, name)):
            words = f"'{version}' is not a version: give NAME==21.2.0, NAME==21.*,22.* or NAME==last:10"
            raise Failure(USER, f"{option} '{spec}': {words}")
        lines.append(f"{name}=={version}")
    return "ladder" if len(parts) > 1 or re.search("[:*]", lines[0]) else "release", lines


def _take_folder(folder: Path, path: Path) -> None:
    """Copies a source folder.

    In a repository: what git does not ignore, and the history if that is in the folder (versions come from tags).
    Otherwise everything except leftovers of builds and editors.
    """
    source = folder / "source"
    if not (commit := commit_of(path, "HEAD")):
        shutil.copytree(path, source, symlinks=True, ignore=_not_source)
        return
    source.mkdir()
    top = Path(asked(path, "rev-parse", "--show-toplevel"))
    for name in git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard").out.split("\0"):
        there, here = top / name, source / name
        # git still lists deleted files; submodules are folders.
        if name and (there.is_symlink() or there.is_file()):
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(there, here, follow_symlinks=False)
        elif name and there.is_dir():
            shutil.copytree(there, here, symlinks=True, ignore=_private, dirs_exist_ok=True)
    if (top / ".git").is_dir():
        shutil.copytree(top / ".git", source / ".git", symlinks=True, ignore=_private)
        kept = r"^(core\.(repositoryformatversion|bare)|extensions\..*)$"
        for line in asked(top, "config", "--local", "--get-regexp", kept).splitlines():
            done_by_git(source, "config", "--file", str(source / ".git/config"), *line.split(" ", 1))
    _describe_source(folder, path, commit)
    if asked(path, "status", "--porcelain", "--", "."):
        (folder / "changed").write_text("yes")
        say(f"--package {path}: with uncommitted changes")


def _private(folder: str, names: list[str]) -> set[str]:
    """What a git folder has besides its history, such as addresses with tokens, hooks, and who did what."""
    return {*names}.difference(HISTORY) if {"HEAD", "objects"}.issubset(names) else set()


def _not_source(folder: str, names: list[str]) -> set[str]:
    paths = {name: Path(folder, name) for name in names}
    odd = {name for name, path in paths.items() if not (path.is_symlink() or path.is_file() or path.is_dir())}
    return odd | {*LEFT_BY_TOOLS}.intersection(names) | _private(folder, names)


def _take_commit(folder: Path, option: str, path: Path, ref: str) -> None:
    """Fetches the commit with its history into a new repository; also from a shallow clone."""
    source = folder / "source"
    if not asked(path, "rev-parse", "--git-dir"):
        raise Failure(USER, f"{option}: '{path}' is not in a git repository")
    if not (commit := commit_of(path, ref)):
        raise Failure(USER, f"{option}: there is no commit '{ref}' in '{path}'")
    done_by_git(folder, "init", "--quiet", str(source))
    # The commit need not be on a branch.
    upload = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"
    fetch = ("fetch", "--quiet", "--tags", "--update-shallow", "--upload-pack", upload)
    for words in (
        (*fetch, asked(path, "rev-parse", "--show-toplevel") or asked(path, "rev-parse", "--absolute-git-dir"), commit),
        ("checkout", "--quiet", "--detach", commit),
    ):
        done = git(source, *words)
        if done.status:
            raise Failure(RUN, f"{option}: {done.last_line}")
    inside = _describe_source(folder, path, commit)
    if not (source / inside).is_dir():
        raise Failure(USER, f"{option}: commit {ref} has no folder '{inside}'")


def _describe_source(folder: Path, path: Path, commit: str) -> str:
    """Saves the commit and the package's path inside its repository; returns that path."""
    inside = asked(path, "rev-parse", "--show-prefix").rstrip("/")
    (folder / "subfolder").write_text(inside)
    (folder / "commit").write_text(commit)
    return inside
