"""Installs other versions of packages into a service's image (--package, --with), and the dependencies that they need.

Environment: CHANGED is `NAME==VERSION NAME==VERSION`, releases, or builds of a source, with a local part (`+g1a2b3c4`);
PYTHON_RELEASED is the day of this Python's release. The wheels are in /wheel.

Dependencies stay as locked if the packages fit: pip has no objection, and they can be imported like the versions before
them. Otherwise as few as possible are changed, to what the index had on the day after the release: an old package may
not work with the newest versions that it allows. packages.txt then begins with that day.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from importlib import import_module, metadata
from pathlib import Path

WHEELS, UV, START, FROZEN = Path("/wheel"), Path("/uv.txt"), Path("/app/server/start"), Path("/app/packages.txt")
ALPINE = Path("/etc/alpine-release")
CRASH = "importing them"
SCRIPT = "console_scripts"
PIP = (sys.executable, "-m", "pip")
INSTALL = (*PIP, "install", "--quiet", "--no-cache-dir", "--no-deps")
OBJECTION = re.compile(r"(\S+) \S+ (?:requires|has requirement) ([\w.-]+).*")
BUILDERS = ("setuptools", "wheel")
"""What builds packages has to know this Python."""
WITH_RESOURCES = "setuptools<81"
"""Later ones lack pkg_resources, according to its own warning."""


@dataclass(frozen=True)
class Change:
    """The changed packages; what of them could not be imported before, and which others they needed then."""

    pins: Mapping[str, str]
    """NAME==VERSION by normalised name."""
    broken: Mapping[str, str]
    needed: Sequence[str]


def main() -> None:
    changed = [word.split("==", 1) for word in os.environ["CHANGED"].split()]
    made = {normalised(name): version for name, version, *_ in (wheel.name.split("-") for wheel in wheels())}
    pins = {normalised(name): f"{name}=={made.get(normalised(name), version)}" for name, version in changed}
    change = Change(pins, failed_imports(pins), dependencies(pins, sys.maxsize))
    install_wheels(pins.values())
    head = ""
    if why := misfit(change):
        with tempfile.TemporaryDirectory() as folder:
            is_release = not any("+" in version for _, version in changed)
            head = f"# dependencies as of {fit(change, why, Index(folder), is_release=is_release)}\n"
    print(head)
    FROZEN.write_text(head + run(*PIP, "freeze").stdout)


class Index:
    """The package index as of a day, which uv knows how to ask."""

    def __init__(self, folder: str) -> None:
        done = run(*INSTALL, f"--target={folder}/uv", UV.read_text().strip())
        if done.returncode:
            sys.exit(done.stderr)
        self.folder, self.python_released = folder, os.environ["PYTHON_RELEASED"]

    def ask(self, verb: str, *words: str, day: str = "", text: str = "") -> subprocess.CompletedProcess[str]:
        """What `uv pip` answers; `day`: without later uploads."""
        own = max(day, self.python_released)
        limits = (
            [f"--exclude-newer={day}", *(f"--exclude-newer-package={name}={own}" for name in BUILDERS)] if day else ()
        )
        argv = (f"{self.folder}/uv/bin/uv", "pip", verb, "--quiet", f"--python={sys.executable}", *limits, *words)
        return run(*argv, text=text, settings={"UV_NO_CONFIG": "1", "UV_CACHE_DIR": f"{self.folder}/cache"})

    def versions(self, requirements: Iterable[str], day: str) -> Mapping[str, str]:
        """The versions that satisfy the requirements, with all dependencies; none if there is no solution."""
        words = ("--no-header", "--no-annotate", *links(), "-")
        done = self.ask("compile", *words, day=day, text="\n".join(requirements))
        return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))

    def day_after(self, pins: Iterable[str]) -> str:
        """The day after the last of these releases; empty if the index does not tell."""
        days = []
        for pin in pins:
            lock = self.ask("compile", "--no-deps", "--format=pylock.toml", "-", text=pin).stdout
            # Wheels for later Pythons are often added to a release.
            days += sorted(re.findall(r"upload-time = (\d{4}-\d\d-\d\d)", lock))[:1]
        return str(date.fromisoformat(max(days)) + timedelta(days=1)) if days else ""


def fit(change: Change, why: str, index: Index, *, is_release: bool) -> str:
    """Changes dependencies until the packages fit; returns the day that they are from."""
    pins = change.pins.values()
    day = index.day_after(pins) if is_release else ""
    check_others(change, index, day)
    days = dict.fromkeys([day, max(day, index.python_released)] if day else [], "") | {"": ""}
    more: list[str] = []
    for limit, depth in itertools.product(days, (0, 1, sys.maxsize)):
        if "pkg_resources" in why:
            more = [WITH_RESOURCES]
        again = [f"--reinstall-package={name}" for name in dependencies(change.pins, depth)]
        done = index.ask("install", *pins, *more, *again, *links(), day=limit)
        if not (done.returncode or (why := misfit(change))):
            return limit or str(date.today())
        failed = done.stderr.strip().partition("\n")[0] if done.returncode else ""
        days[limit] = f"as of {limit or 'today'}: {why[:130]}" + (f" ({failed[:80]})" if failed else "")
    first, *others = days.values()
    also = "".join(f", nor {words.partition(':')[0]}" for words in others)
    sys.exit(f"{' '.join(pins)} does not fit with dependencies {first}{also}; choose others: --with NAME==VERSION")


def check_others(change: Change, index: Index, day: str) -> None:
    """Exits if a package that stays as it is needs another version of a changed one."""
    own = {*dependencies(change.pins, sys.maxsize)}
    others = {
        normalised(found[1]): found[0].rstrip(".")
        for found in map(OBJECTION.match, objections())
        if found and normalised(found[2]) in change.pins and normalised(found[1]) not in own
    }
    if others:
        pins = [pin for name, pin in change.pins.items() if name not in others]
        versions = index.versions([*pins, *others], day) or index.versions([*pins, *others], "")
        add = " ".join(f"--with {name}=={versions[name]}" for name in others if name in versions)
        why = next(iter(others.values()))
        sys.exit(f"{why}: " + (f"add {add}" if add else f"no {', '.join(others)} works with {' '.join(pins)}"))


def install_wheels(pins: Iterable[str]) -> None:
    argv = (*INSTALL, "--force-reinstall", *links(), *pins)
    # Without a wheel that suits, the index has another one of the release, or its source.
    if run(*argv, "--no-index").returncode and (done := run(*argv)).returncode:
        sys.exit(done.stderr)


def wheels() -> list[Path]:
    """The wheels that suit: pip on Alpine would also take those with code for Debian's libc."""
    return sorted(WHEELS.rglob("*-any.whl" if ALPINE.exists() else "*.whl"))


def links() -> list[str]:
    return [f"--find-links={folder}" for folder in dict.fromkeys(wheel.parent for wheel in wheels())]


def misfit(change: Change) -> str:
    """Why the packages do not fit; empty if they do. Removes objecting ones that only the versions before needed."""
    found = objections()
    unneeded = {*change.needed} - {need for package in metadata.distributions() for need in needs(package)}
    if away := [one[1] for one in map(OBJECTION.match, found) if one and normalised(one[1]) in unneeded]:
        run(*PIP, "uninstall", "--yes", *away)
        found = objections()
    failed = failed_imports(change.pins).items()
    new = (f"{what}: {error}" for what, error in failed if what == CRASH or what not in change.broken)
    return " ".join(next(iter([*found, *new]), "").rstrip(".").split())


def objections() -> list[str]:
    """What pip has against the packages as they are."""
    done = run(*PIP, "check")
    return done.stdout.splitlines() if done.returncode else []


def failed_imports(names: Iterable[str]) -> dict[str, str]:
    """What of these packages, and of those that need them, cannot be imported now, with the error."""
    # In another process, where nothing has been imported before.
    done = run(sys.executable, __file__, *names)
    return {CRASH: f"status {done.returncode}"} if done.returncode else json.loads(done.stdout.splitlines()[-1])


def try_imports(names: Sequence[str]) -> None:
    """Prints what cannot be imported: modules, and the program that starts the server."""
    start = {*re.findall(r"[\w.-]+", START.read_text())}
    failed = {}
    for package in metadata.distributions():
        if not {normalised(package.metadata["Name"]), *needs(package)} & {*names}:
            continue
        imports: dict[str, Callable[[], object]] = {name: partial(import_module, name) for name in modules(package)}
        imports |= {one.name: one.load for one in package.entry_points if one.group == SCRIPT and one.name in start}
        for what, load in imports.items():
            try:
                load()
            except BaseException as error:
                failed[what] = f"{type(error).__name__}: {error}"
    print(f"\n{json.dumps(failed)}")


def modules(package: metadata.Distribution) -> Iterator[str]:
    """The modules and packages at its top."""
    for file in package.files or ():
        name = file.parts[0].partition(".")[0]
        if name.isidentifier() and file.suffix in (".py", ".so") and file.parts[1:] in ((), ("__init__.py",)):
            yield name


def dependencies(names: Iterable[str], depth: int) -> list[str]:
    """The installed packages that these need, at most `depth` steps away."""
    installed = {normalised(package.metadata["Name"]): package for package in metadata.distributions()}
    found = last = {*names} & installed.keys()
    while depth > 0 and last:
        last = {need for name in last for need in needs(installed[name])} & installed.keys() - found
        found, depth = found | last, depth - 1
    return sorted(found - {*names})


def needs(package: metadata.Distribution) -> set[str]:
    """The packages that it requires without an extra."""
    lines = [line for line in package.requires or () if not re.search(r"\bextra *==", line)]
    return {normalised(found[0]) for line in lines if (found := re.match(r"[\w.-]+", line))}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def run(*argv: str, text: str = "", settings: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **(settings or {})}
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=False, env=environment)


if __name__ == "__main__":
    if names := sys.argv[1:]:
        try_imports(names)
        sys.stdout.flush()
        # Without what they registered for the end, which could print or wait.
        os._exit(0)
    else:
        main()
