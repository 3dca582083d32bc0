"""`compare`: measures two refs of a repository in one run, each in its own git worktree below results/.

A folder results/.refs-X has refs.json (`repository`, `paths`: what to check out of it, `sides`: a Side for the base and
one for the head, `changed`: the paths that differ), `lock` (held while in use), and 0 and 1 with the worktrees.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver.docker import LOCK, docker, end
from driver.failure import EQUAL, USER, Failure, ignore_signals, say
from driver.files import below, is_locked, save_json, text_of
from driver.planning.matrix import REFS, TWO_REFS, Request, app_parser, two_refs
from driver.planning.tools import asked, commit_of, done_by_git, git
from driver.run import ROOT

PROJECT = ("services", ".env")
"""Paths that are checked out of this project."""
WORKTREE = "WORKTREE"
"""The ref that stands for the uncommitted state."""
MARK = re.compile(r"[a-z0-9-]{7,40}")
LABEL = re.compile(r"[A-Za-z0-9._/@%+~^-]{1,60}")
ENDS_S = 60.0
"""Seconds that scripts/matrix.sh has to remove its containers after a signal."""
BEGINS_S = 60
"""Seconds: a younger folder without a lock may belong to a call that is just starting."""
AUTHOR = {"NAME": "worktree", "EMAIL": "worktree@localhost", "DATE": "2000-01-01T00:00:00Z"}
"""Author and date of the commit for WORKTREE; constant, so that the same content gives the same commit."""


@dataclass(frozen=True)
class Side:
    """One of the two refs.

    `name`, `mark`: suffixes of its services' and their images' names. `dirty`: `commit` is the uncommitted state
    on top of `head`. `place`: its worktree, relative to the project.
    """

    label: str
    name: str
    mark: str
    commit: str
    head: str
    dirty: bool
    place: str


@dataclass(frozen=True)
class Source:
    """Where two refs come from: a repository, the folder of an app in it, and the paths to check out.

    `tree`: the name of the worktree's folder. `needed`: a path that both refs must have.
    """

    repository: Path
    prefix: str = ""
    paths: Sequence[str] = PROJECT
    tree: str = "project"
    needed: str = "services/matrix.toml"


def main(argv: list[str]) -> int:
    """`compare REF REF OPTION...` or `compare --resume RUN OPTION...`: the exit status of scripts/matrix.sh."""
    resume = argv[1].rstrip("/") if argv[:1] == ["--resume"] and len(argv) > 1 else ""
    saved = ROOT / "results" / Path(resume).name
    if argv[:1] == ["--resume"]:
        if not resume or not (saved / REFS).exists():
            raise Failure(USER, f"'{argv[1] if len(argv) > 1 else ''}' is not a run of two refs")
    else:
        refs, app, selection = read_request(argv)
    (ROOT / "results").mkdir(exist_ok=True)
    # If a git hook calls this, its variables refer to another folder.
    for name in asked(ROOT, "rev-parse", "--local-env-vars").split():
        os.environ.pop(name, None)
    remove_left_refs()
    folder = None
    child: subprocess.Popen[bytes] | None = None
    try:
        if resume:
            folder = _place_of(resume, saved)
            lock = _hold(folder)
            shutil.copy(saved / REFS, folder)
            source = Source(_repository(folder), paths=_saved(folder)["paths"])
            selection = ["--resume", resume, *argv[2:]]
        else:
            source = _source_of(app)
            folder = ROOT / f"results/.refs-{os.getpid():x}{secrets.token_hex(2)}"
            folder.mkdir()
            lock = _hold(folder)
            sides = save_refs(source, folder, refs)
            selection += [f"--sides=results/{folder.name}"]
            if app:
                places = [f"{ROOT / side.place}/{source.prefix}" for side in sides]
                origin = str(Path(app[0]).resolve())
                selection = ["--app", places[0], app[1], "--head", places[1], "--origin", origin, *selection]
        _check_out(source, folder)
        # The child inherits the lock, so that others leave the folder alone even if this process ends before the run.
        argv, env = [str(ROOT / "scripts/matrix.sh"), *selection], {**os.environ, TWO_REFS: "1"}
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=env, pass_fds=[lock], start_new_session=True)
        return child.wait()
    finally:
        ignore_signals()
        if child:
            end(child, ENDS_S)
        if folder:
            remove_refs(folder)


def read_request(argv: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The two refs; folder and callable of --app, if given; options of scripts/matrix.sh."""
    refs = two_refs(argv, "two refs are needed, such as main WORKTREE")
    for option in (word.partition("=")[0] for word in argv[2:]):
        if option in ("--resume", "--target", "--package", "--with"):
            raise Failure(USER, f"{option} does not go with two refs; see --help")
    request, selection = app_parser("compare").parse_known_args(argv[2:], Request())
    return refs, [*request.own.values()], selection


def _source_of(app: Sequence[str]) -> Source:
    """The project, or the repository of an app; Failure if the folder is in no repository."""
    folder = Path(app[0]) if app else ROOT
    if not folder.is_dir():
        raise Failure(USER, f"--app: there is no folder '{app[0]}'")
    done = git(folder, "rev-parse", "--show-toplevel")
    if done.status:
        why = (done.out + done.err).splitlines()[:1]
        raise Failure(USER, f"{folder} is not in a git clone, which two refs need: {''.join(why)}")
    repository = Path(done.out.strip())
    prefix = asked(folder, "rev-parse", "--show-prefix").rstrip("/")
    if app:
        # An app at the top of its repository is named after the folder.
        return Source(repository, prefix, (prefix or ".",), "project" if prefix else repository.name, "")
    if prefix:
        raise Failure(USER, "this folder is not a git clone: git clone the project first")
    return Source(repository)


def _place_of(run: str, saved: Path) -> Path:
    """Recreates the folder that the run's refs had, because the run's Compose file contains its path."""
    folder = ROOT / Path(_sides(saved)[0].place).parents[1]
    try:
        folder.mkdir()
    except FileExistsError:
        raise Failure(USER, f"{run} is being measured: wait for it, or end it") from None
    return folder


def _hold(folder: Path) -> int:
    """Takes the lock of the folder; returns its file descriptor."""
    # Not the descriptor number of a run's lock, which is inherited.
    lock = fcntl.fcntl(os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666), fcntl.F_DUPFD_CLOEXEC, LOCK + 1)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _sides(folder: Path) -> list[Side]:
    return [Side(**side) for side in _saved(folder).get("sides", ())]


def _repository(folder: Path) -> Path:
    """The repository of the refs in this folder; an empty one is this project."""
    return Path(_saved(folder).get("repository") or ROOT)


def _saved(folder: Path) -> dict[str, Any]:
    """The folder's refs.json; empty if there is none."""
    return dict(json.loads(text_of(folder / REFS) or "{}"))


def save_refs(source: Source, folder: Path, refs: Sequence[str]) -> list[Side]:
    """Writes refs.json; Failure if a ref does not exist or the refs are equal."""
    sides: list[Side] = []
    for number, ref in enumerate(refs):
        if not (head := commit_of(source.repository, "HEAD" if ref == WORKTREE else ref)):
            raise Failure(USER, f"there is no commit '{ref}' in {source.repository}: fetch it first")
        commit = _commit_worktree(source, folder, head) if ref == WORKTREE else head
        needed = source.prefix or source.needed
        if not _has(source, commit, needed):
            raise Failure(USER, f"'{ref}' has no {needed}: there is nothing to measure")
        label, short = ref if LABEL.fullmatch(ref) else commit[:12], commit[:7]
        slug = re.sub("[^a-z0-9]+", "-", label.lower()).strip("-")[:24].rstrip("-")
        name = slug or short
        if sides and name == sides[0].name:
            name += f"-{short}"
        mark, place = f"{slug}-{short}" if slug else short, f"results/{folder.name}/{number}/{source.tree}"
        sides.append(Side(label, name, mark, commit, head, commit != head, place))
    commits = [side.commit for side in sides]
    changed = done_by_git(source.repository, "diff", "--no-renames", "--name-only", *commits, "--", *source.paths)
    if not changed:
        words = f"{refs[0]} and {refs[1]} are equal in {', '.join(source.paths)}: there is nothing to compare"
        raise Failure(EQUAL, words)
    repository = "" if source.repository == ROOT else str(source.repository)
    told = {"repository": repository, "paths": source.paths, "changed": changed.splitlines()}
    save_json(folder / REFS, {**told, "sides": [vars(side) for side in sides]})
    return sides


def _has(source: Source, commit: str, path: str) -> bool:
    return not git(source.repository, "cat-file", "-e", f"{commit}:{path}").status


def _commit_worktree(source: Source, folder: Path, head: str) -> str:
    """The uncommitted state as a commit on no branch; `head` if nothing is uncommitted."""
    people = {f"GIT_{who}_{fact}": value for who in ("AUTHOR", "COMMITTER") for fact, value in AUTHOR.items()}
    env = {**os.environ, "GIT_INDEX_FILE": str(folder / "index"), **people}

    def ask(*words: str) -> str:
        return done_by_git(source.repository, *words, env=env)

    ask("read-tree", head)
    ask("add", "--all", "--", *source.paths)
    tree = ask("write-tree")
    if tree == ask("rev-parse", f"{head}^{{tree}}"):
        return head
    return ask("commit-tree", tree, "-p", head, "-m", "uncommitted changes")


def _check_out(source: Source, folder: Path) -> None:
    """Creates a worktree for each side, with the needed paths."""
    for side in _sides(folder):
        if not commit_of(source.repository, side.commit):
            gone = f"commit {side.commit[:12]} is no longer in {source.repository}"
            raise Failure(USER, f"{gone}: start a new run")
        place = ROOT / side.place
        place.parent.mkdir(parents=True, exist_ok=True)
        there = [path for path in source.paths if _has(source, side.commit, path)]
        words = ("worktree", "add", "--quiet", "--detach", "--no-checkout", str(place), side.commit)
        done_by_git(source.repository, *words)
        # Containers read the files as another user.
        mask = os.umask(0o022)
        done_by_git(place, "checkout", "--quiet", side.commit, "--", *there)
        os.umask(mask)


def remove_refs(folder: Path) -> None:
    """Removes the images, worktrees and files of its sides; keeps images that another folder's sides use too."""
    repository = _repository(folder)
    others = {side.mark for other in (ROOT / "results").glob(".refs-*") if other != folder for side in _sides(other)}
    for side in _sides(folder):
        place = ROOT / side.place
        if not (below(folder, str(place)) and MARK.fullmatch(side.mark)):
            raise Failure(USER, f"{folder.relative_to(ROOT)} was not made by this script: remove it")
        if side.mark not in others:
            images = ("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
            names = docker(*images, "--filter", f"reference=bench/*-{side.mark}", check=False).out.split()
            if names:
                docker("image", "rm", "--force", *names, check=False)
        shutil.rmtree(place, ignore_errors=True)
        git(repository, "worktree", "remove", "--force", "--force", str(place))
    shutil.rmtree(folder, ignore_errors=True)


def remove_left_refs() -> None:
    """Removes leftovers of killed calls: folders whose lock nobody holds."""
    for folder in sorted((ROOT / "results").glob(".refs-*")):
        if folder.is_dir() and not folder.is_symlink() and not _is_in_use(folder):
            say(f"removing what is left of two refs: {folder.relative_to(ROOT)}")
            remove_refs(folder)


def _is_in_use(folder: Path) -> bool:
    with suppress(OSError):
        return is_locked(folder / "lock")
    return time.time() - folder.stat().st_mtime < BEGINS_S
