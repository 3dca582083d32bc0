"""What an app requires: lines for the resolver, the versions of its lock, and the packages of its folder to install.

They come from whichever of its files has them, read as the tool of that file does. Nothing of the app is run here.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from bench.core.errors import UserError
from bench.core.files import as_object, items, mapping, read_below
from bench.core.formats import listed
from bench.own_app.locks import ELSEWHERE, LOCKS, PIPFILE, PYLOCK, constraints, locked, requirement
from bench.own_app.metadata import pyproject, specifier, tool
from driver.files import below

SOURCES = ("requirements.txt", "pyproject.toml", PIPFILE, "Pipfile", PYLOCK)
"""Files to look for in the app's folder, in this order."""
CONSTRAINTS = ".constraints.txt"
PROJECTS = "projects.txt"
"""A line for each package of the folder, for services/debian.Dockerfile."""
BUILT_FROM = ("pyproject.toml", "setup.cfg", "setup.py")
DEEPEST = 5
ONE_INDEX = "images are built from one package index"
_INCLUDE = re.compile(r"(-r|--requirement|-c|--constraint)[ =]?\s*(\S+)\Z")
_INDEX = re.compile(r"(-i|--index-url|--extra-index-url|-f|--find-links)\b")
_DEFAULT_INDEX = re.compile(r"(-i|--index-url)[ =]\s*https://pypi\.org/simple/?\Z")
_LOCAL = re.compile(r"(-e|--editable)\b|\.|/|file:")
_PROJECT = re.compile(r"(?:(?:-e|--editable)[ =]\s*)?[\"']?(?:file:)?([^[\]\"'\s]+)(?:\[([\w., -]*)])?[\"']?\Z", re.A)


class Project(NamedTuple):
    """A package of the folder, `needed` if a file asks for it, or if only a build tells its requirements."""

    needed: bool
    extras: frozenset[str]


@dataclass(slots=True)
class Requirements:
    """What the app in `folder` requires; `projects` are by their place in the folder, `notes` lines for the user."""

    folder: Path
    lines: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    projects: dict[str, Project] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    source: str = ""
    """The file of the folder that names them; empty if none does, or if another was given."""

    def files(self) -> dict[str, str]:
        """The files for services/debian.Dockerfile, by name."""
        first = [f"-c {CONSTRAINTS}"] if self.constraints else []
        files = {"requirements.in": _text_of([*first, *self.lines]), PROJECTS: _text_of([*self._project_lines()])}
        return files | ({CONSTRAINTS: _text_of(self.constraints)} if self.constraints else {})

    def _project_lines(self) -> Iterator[str]:
        for place, project in self.projects.items():
            digest = hashlib.sha256()
            for name in BUILT_FROM:
                # They say what the package requires: a repeated run keeps its lock only if they are the same.
                with suppress(OSError):
                    digest.update(read_below(self.folder, f"{place}/{name}"))
            extras = f"[{','.join(sorted(project.extras))}]" if project.extras else ""
            yield "\t".join((place, "needed" if project.needed else "wanted", digest.hexdigest()[:16], extras))

    def read(self, file: Path, shown: str) -> bool:
        """Takes the requirements of a file, as its name says how; false if it has none."""
        if file.name in (PIPFILE, "Pipfile"):
            data = read_data(file, shown)
            self.add_table(mapping(data.get("default" if file.name == PIPFILE else "packages")), shown)
        elif file.name.startswith("pylock."):
            self.add_pylock(read_data(file, shown), shown)
        elif file.suffix == ".toml":
            return self.add_pyproject(read_data(file, shown), shown)
        else:
            self.lines += self._lines(file.parent, file.name, shown, self.constraints)
        return True

    def add_pyproject(self, data: Mapping[str, Any], shown: str) -> bool:
        """Takes the requirements that a pyproject.toml names itself; false if only a build tells them."""
        project, poetry = mapping(data.get("project")), mapping(tool(data, "poetry").get("dependencies"))
        if "dependencies" not in project and poetry:
            self.add_table({name: value for name, value in poetry.items() if name != "python"}, shown)
            return True
        local = self.add_sources(data, shown)
        self.lines += [requirement(one) for one in _dependencies(data) if _name(one) not in local]
        return bool(project) and "dependencies" not in items(project.get("dynamic"))

    def add_sources(self, data: Mapping[str, Any], shown: str, at: str = "") -> set[str]:
        """Adds the packages that a pyproject.toml, in the place `at`, takes from the folder; returns their names."""
        poetry = mapping(tool(data, "poetry").get("dependencies"))
        named = {name: value for name, value in poetry.items() if mapping(value).keys() & {*ELSEWHERE, "source"}}
        named |= mapping(tool(data, "uv").get("sources"))
        sources: dict[str, Mapping[str, Any]] = {canonicalize_name(key): mapping(value) for key, value in named.items()}
        local = set[str]()
        for dependency in _dependencies(data):
            if (source := sources.get(name := _name(dependency))) is None:
                continue
            path, in_workspace = source.get("path"), source.get("workspace")
            if member := self._member(name) if in_workspace else None:
                self.add_project(member, shown, Requirement(dependency).extras)
            elif isinstance(path, str):
                self.add_project(os.path.join(at, path), shown, Requirement(dependency).extras)
            elif in_workspace:
                raise UserError(f"{shown}: {name} is no member of a workspace in the app's folder: {_instead('PATH')}")
            else:
                raise UserError(f"{shown}: {name} comes from elsewhere: {ONE_INDEX}: give --requirements FILE")
            local.add(name)
        return local

    def members(self) -> Iterator[str]:
        """The places of the members of the folder's uv workspace."""
        for pattern in items(mapping(tool(pyproject(self.folder), "uv").get("workspace")).get("members")):
            with suppress(ValueError, NotImplementedError):
                yield from (os.path.relpath(path, self.folder) for path in sorted(self.folder.glob(str(pattern))))

    def _member(self, name: str) -> str | None:
        """The place of the member with this name."""
        projects = ((place, mapping(pyproject(self.folder / place).get("project"))) for place in self.members())
        return next((place for place, project in projects if _name(str(project.get("name"))) == name), None)

    def add_table(self, table: Mapping[str, Any], shown: str) -> None:
        """Takes the entries of Poetry or Pipenv: versions, or tables with versions, extras, markers or a path."""
        for name, value in table.items():
            for one in value if isinstance(value, list) else [value]:
                entry = {"version": one} if isinstance(one, str) else mapping(one)
                if not entry.get("optional"):
                    self._add_entry(name, entry, shown)

    def _add_entry(self, name: str, entry: Mapping[str, Any], shown: str) -> None:
        extras = [str(extra) for extra in items(entry.get("extras"))]
        path = entry.get("path") or entry.get("file")
        if isinstance(path, str) and "://" not in path:
            self.add_project(path, shown, extras)
            return
        index = str(entry.get("source") or entry.get("index") or "pypi")
        if origin := next((word for word in ELSEWHERE if entry.get(word)), "" if index.lower() == "pypi" else index):
            raise UserError(f"{shown}: {name} comes from {origin}: {ONE_INDEX}: give --requirements FILE")
        markers = [entry["markers"]] if isinstance(entry.get("markers"), str) else []
        markers += [f"sys_platform == '{entry['platform']}'"] if "platform" in entry else []
        try:
            markers += [_python_marker(str(entry["python"]))] if "python" in entry else []
            versions = specifier(str(entry.get("version") or "*"))
        except ValueError as error:
            raise UserError(f"{shown}: {name}: {error}: give --requirements FILE") from error
        extra = f"[{','.join(extras)}]" if extras else ""
        self.lines.append(requirement(f"{name}{extra}{versions}", " and ".join(f"({one})" for one in markers)))

    def add_pylock(self, data: Mapping[str, Any], shown: str) -> None:
        """Takes every package of a pylock.toml with its version."""
        for package in locked(PYLOCK, data):
            if not package.origin:
                self.lines.append(package.line(package.marker))
            elif package.place:
                self.add_project(package.place, shown)
            else:
                raise UserError(f"{shown}: {package.name} comes from {package.origin}: {ONE_INDEX}")

    def add_project(self, place: str, shown: str, extras: Collection[str] = (), *, needed: bool = True) -> None:
        """Has a package of the folder installed, and those that it takes from the folder."""
        place = os.path.normpath(place)
        path = below(self.folder, place)
        if path is None or os.path.isabs(place):
            raise UserError(f"{shown}: '{place}' is outside of the app's folder: {_instead(place)}")
        if not path.exists() or re.search(r"[\t\r\n]", place):
            raise UserError(f"{shown}: the app's folder has no '{place}'")
        requirement(f"x[{','.join(extras)}]")
        before = self.projects.get(place, Project(needed=False, extras=frozenset()))
        self.projects[place] = Project(before.needed or needed, before.extras | {*extras})
        if needed and not before.needed and path.is_dir():
            self.add_sources(pyproject(path), os.path.normpath(f"{place}/pyproject.toml"), place)

    def _lines(self, folder: Path, name: str, shown: str, limits: list[str], depth: int = 0) -> Iterator[str]:
        """The requirements of a file and of those that it includes; constraints are added to `limits`."""
        if depth > DEEPEST:
            raise UserError(f"{shown} includes itself")
        for line in _read(folder, name, shown).splitlines():
            # The lock adds hashes of its own.
            text = re.sub(r"\s*--hash[= ]\S+", "", line.split(" #")[0].strip().removesuffix("\\")).strip()
            if not text or text.startswith("#") or _DEFAULT_INDEX.match(text):
                continue
            if include := _INCLUDE.match(text):
                other = os.path.join(os.path.dirname(name), include[2])
                included = self._lines(folder, other, include[2], limits, depth + 1)
                if include[1] in ("-c", "--constraint"):
                    limits += included
                else:
                    yield from included
            elif _LOCAL.match(text):
                match = _PROJECT.match(text)
                if not match or "://" in match[1]:
                    raise UserError(f"{shown}: '{text}' is neither a release nor in the app's folder: {ONE_INDEX}")
                self.add_project(match[1], shown, re.findall(r"[\w.-]+", match[2] or ""))
            elif _INDEX.match(text):
                raise UserError(f"{shown}: '{text.split()[0]}' is not supported: {ONE_INDEX}")
            else:
                yield text


class Workspace(NamedTuple):
    """The folder of a uv workspace that may have the app as a member, and the app's place in it."""

    folder: Path
    place: str

    @property
    def lock(self) -> str:
        """The path of its lock from the app's folder, if the app is a member; else empty."""
        uv = mapping(tool(pyproject(self.folder), "uv").get("workspace"))
        member, excluded = (any(self._fits(str(one)) for one in items(uv.get(key))) for key in ("members", "exclude"))
        return f"{'../' * len(self.place.split('/'))}uv.lock" if member and not excluded else ""

    def _fits(self, pattern: str) -> bool:
        parts, wanted = self.place.split("/"), os.path.normpath(pattern).split("/")
        return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def requirements_of(folder: Path, given: Path | None, shown: str, workspace: Workspace | None = None) -> Requirements:
    """What an app requires: from the file of --requirements, or from its own files with the versions of its lock."""
    requirements = Requirements(folder)
    data = pyproject(folder)
    declared = data.keys() & {"project", "build-system"}
    files = [given] if given else [folder / name for name in SOURCES if (folder / name).is_file()]
    source = next((file.name for file in files if requirements.read(file, shown or file.name)), "")
    if not source and not given and (declared or _calls_setup(folder)):
        requirements.add_project(".", source := "pyproject.toml" if data else "setup.py")
    if not source and files:
        member = next((place for place in requirements.members() if pyproject(folder / place)), "")
        give = f"it is a workspace: give the folder of a member, such as {member}" if member and not given else ""
        lacks = f"{shown or files[0].name} has no [project] with dependencies"
        raise UserError(f"{lacks}: {give or 'give --requirements FILE'}")
    if source and not given:
        requirements.source = source
        _add_lock(requirements, source, workspace)
    # As pip would; where its tool does not, because the app is no package, that fails, which is only said.
    if declared and tool(data, "uv").get("package", True) and tool(data, "poetry").get("package-mode", True):
        requirements.add_project(".", "pyproject.toml", needed=False)
    return requirements


def source_notes(requirements: Requirements) -> Iterator[str]:
    """A line about the file with an app's requirements, if they are its own."""
    others = [*requirements.folder.glob("*requirements*.txt"), *requirements.folder.glob("requirements/*.txt")]
    unread = sorted(str(file.relative_to(requirements.folder)) for file in others)
    if requirements.source:
        but = f" ({listed(unread)} not read)" if unread and requirements.source != SOURCES[0] else ""
        yield f"its requirements are those of {requirements.source}{but}"
        return
    installs = ""
    with suppress(OSError):
        text = read_below(requirements.folder, "Dockerfile").decode(errors="replace")
        installs = next(iter(re.findall(r"pip3? install(?: [\w.,=<>~!\[\]-]+)+", text)[-1:]), "")
    hint = f" (its Dockerfile has '{installs[:200]}')" if installs else ""
    yield f"the folder does not say what it requires{hint}: give --requirements {next(iter(unread), 'FILE')}"


def _add_lock(requirements: Requirements, source: str, workspace: Workspace | None) -> None:
    """Adds the versions of the app's lock as constraints, unless the lock is itself the source of the requirements."""
    name = source if source in LOCKS else next((name for name in LOCKS if (requirements.folder / name).is_file()), "")
    if name:
        lines, note = constraints(name, read_data(requirements.folder / name, name), requirements.projects)
    elif workspace and (name := workspace.lock):
        lines, note = constraints("uv.lock", read_data(workspace.folder / "uv.lock", name), requirements.projects, name)
    else:
        return
    requirements.notes.append(note)
    if name != source and lines:
        requirements.constraints += [f"# {name}", *lines]


def _instead(place: str) -> str:
    """What to do about a package that is outside of the app's folder."""
    wheel = f"put its wheel into that (pip wheel --no-deps --wheel-dir FOLDER {place})"
    return f"{wheel} and name it, as ./NAME.whl, in a FILE for --requirements"


def _calls_setup(folder: Path) -> bool:
    with suppress(OSError):
        return re.search(rb"\bsetup\s*\(", read_below(folder, "setup.py")) is not None
    return False


def _dependencies(data: Mapping[str, Any]) -> list[str]:
    return [str(one) for one in items(mapping(data.get("project")).get("dependencies"))]


def _name(text: str) -> str:
    """The name in a requirement; empty if it is none."""
    with suppress(InvalidRequirement):
        return canonicalize_name(Requirement(text).name)
    return ""


def _python_marker(text: str) -> str:
    """The Pythons of an entry of Poetry, `^3.8 || ~2.7`, as a marker."""
    ranges = [SpecifierSet(specifier(part)) for part in text.split("||")]
    alternatives = [[f"python_full_version {one.operator} '{one.version}'" for one in part] for part in ranges]
    return " or ".join(" and ".join(markers) for markers in alternatives if markers)


def read_data(file: Path, shown: str) -> dict[str, Any]:
    """A file with TOML, or Pipfile.lock with JSON; UserError if it cannot be read."""
    text = _read(file.parent, file.name, shown)
    try:
        data = as_object(text) if file.name == PIPFILE else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"cannot read {shown}: {error}: give --requirements FILE") from error
    if data is None:
        raise UserError(f"cannot read {shown}: it is no JSON object: give --requirements FILE")
    return data


def _text_of(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _read(folder: Path, name: str, shown: str) -> str:
    try:
        return read_below(folder, name).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the requirements in {shown}: {error}") from error
