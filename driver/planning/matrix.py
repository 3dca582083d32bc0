"""`matrix`: from the options of scripts/matrix.sh to a run that is planned, held and measured."""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import stat
import subprocess
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from driver import compose
from driver.arguments import Parser, given
from driver.docker import answer
from driver.engines.dead_runs import is_measured
from driver.failure import USER, Failure, Interrupted, say, warn
from driver.files import text_of
from driver.lifecycle import hold
from driver.lifecycle.writer import in_the_way
from driver.nodes import contexts
from driver.origin import is_from_here, is_noted, note_origin
from driver.planning.names import list_of, names_in, read_lists, selected
from driver.planning.own_app import ON_HOST, OPTIONS, prepare_own_app
from driver.planning.packages import is_source, prepare_packages
from driver.planning.tools import bench, plan
from driver.run import ROOT, open_run
from driver.services import harness
from driver.services.ready import patience

MACHINES = ("server-context", "loadgen-context", "server-address")
"""Options for two machines without a swarm."""
PACKAGES = {"--package": "packages", "--with": "together"}
"""Options with a package, by the field of a request that has their values."""
SETUP_ENDS_S = 10.0
"""Seconds that setup.sh gets to end after SIGTERM."""
TWO_REFS = "BENCH_REFS"
"""Environment variable, set by scripts/compare.sh: the run's two refs are checked out."""
LOCAL = ROOT / "services/matrix.local.toml"
"""Additions to the matrix, whose names are in no list unless scripts/generate.sh has run since."""
REFS = "refs.json"
"""The file of a run of two refs from which they are checked out again."""


@dataclass
class Request:
    """The options. `selection`: those of `bench plan`, packages included. `listed`: the WHAT of `--list WHAT`.

    `together`: the values of --with. `own`: the options for the user's own app; `folder` and `app` are those of --app.
    """

    listed: str | None = None
    dry_run: bool = False
    quiet: bool = False
    selection: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    together: list[str] = field(default_factory=list)
    own: dict[str, str] = field(default_factory=dict)
    machines: dict[str, str] = field(default_factory=dict)
    resume: str = ""
    again: str = ""
    swarm: bool = False
    set_up: bool = False

    @property
    def verb(self) -> str:
        """What is done: plan, list, commands or names."""
        if self.listed is None:
            return "commands" if self.dry_run else "plan"
        return "names" if self.listed else "list"


class Grouped(Action):
    """Keeps the values of several options in one dictionary, by option; --app has the names `folder` and `app`."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Called for each occurrence."""
        named = dict(zip(("folder", "app"), values)) if self.nargs else {(option_string or "")[2:]: values}
        getattr(namespace, self.dest).update(named)


def main(argv: list[str]) -> int:
    """`matrix OPTION...`: the exit status of the run."""
    if not os.environ.get(TWO_REFS):
        refuse_typos(argv)
    request = read_request(argv)
    patience(os.environ)
    if request.resume and request.verb != "plan":
        raise Failure(USER, "--list and --dry-run show a new run: leave out --resume")
    if request.resume and not os.environ.get(TWO_REFS) and _is_of_two_refs(request.resume):
        script = str(ROOT / "scripts/compare.sh")
        os.execv(script, [script, "--resume", request.resume, *quiet(), *request.selection])
    if request.verb == "plan":
        need_results(ROOT / "results")
    machines, lists = check_machines(request), read_lists(ROOT)
    if _listed(request, lists):
        return 0
    if not request.set_up and not (request.verb == "list" and harness.can_plan()):
        set_up()
    with ExitStack() as files:
        folder, bases = repeat(request) if request.again else ("", "")
        check_machines(request)
        if request.own:
            request.selection += prepare_own_app(ROOT, request.own, request.selection, folder, files)
        elif request.packages and not request.resume:
            given = (request.packages, request.together)
            request.selection.append(prepare_packages(ROOT, *given, request.selection, files))
        if request.verb != "plan":
            print(plan(ROOT, request.verb, *request.selection, bases=bases), end="")
            return 0
        os.chdir(ROOT)
        chosen = contexts.machines(*machines) if machines else []
        swarm = ["--swarm"] if request.swarm else []
        if request.resume:
            # An empty limit means none; without one, the run would end at its first limit again.
            name, _, limit = bench(ROOT, "resume", f"--run={request.resume}", *request.selection).strip().partition(" ")
            need_origin(ROOT / "results" / name)
            return hold.main([name, "--resume", *swarm, "--", "scripts/measure.sh", name, limit])
        name = plan(ROOT, "plan", *quiet(), *request.selection, bases=bases).strip()
    note_origin(ROOT, name)
    if chosen:
        contexts.place_run(open_run(name), chosen)
    return hold.main([name, *swarm, "--", "scripts/measure.sh", name])


def _listed(request: Request, lists: dict[str, dict[str, str]]) -> bool:
    """Print the list that is asked for if that needs no set-up; also refuses names that are unknown."""
    if request.verb == "names":
        _print(list_of(lists, request.listed or "", request.selection))
        return True
    if harness.can_plan() or os.environ.get(TWO_REFS) or LOCAL.exists():
        return False
    names = names_in(request.selection, lists)
    if request.verb != "list" or request.own or request.packages or request.again:
        return False
    _print(selected(names, lists))
    warn("the cells and how long they take are planned in an image that scripts/setup.sh builds, once")
    return True


def _print(named: Mapping[str, str]) -> None:
    width = max(map(len, named), default=0)
    for name, words in named.items():
        print(f"{name:<{width}}  {words}".rstrip())


def refuse_typos(argv: Sequence[str]) -> None:
    """Failure if an option is none of the script's, but close to one: before set-up, which can take minutes."""
    head = (ROOT / "scripts/matrix.sh").read_text(encoding="utf-8")
    known = {"--help", *re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", "\n".join(re.findall(r"^#.*", head, re.MULTILINE)))}
    for word in argv:
        option = word.partition("=")[0]
        if option.startswith("--") and option not in known and (near := get_close_matches(option, known, 1)):
            meant = f"did you mean {near[0]}? scripts/matrix.sh --help lists all"
            raise Failure(USER, f"unknown option '{option}'; {meant}")


def two_refs(argv: Sequence[str], needed: str) -> list[str]:
    """The two refs before the options; Failure with `needed` if one is missing, and if an option is mistyped."""
    if len(argv) < 2 or any(not ref or ref.startswith("-") for ref in argv[:2]):
        raise Failure(USER, f"{needed}; see --help")
    refuse_typos(argv[2:])
    return list(argv[:2])


def app_parser(prog: str) -> Parser:
    """Parses --app."""
    parser = Parser(prog)
    what = "a folder and MODULE:CALLABLE, such as --app ./shop main:app"
    parser.add_argument("--app", nargs=2, type=given, dest="own", action=Grouped, help=what)
    return parser


def own_parser() -> Parser:
    """Parses the options for the user's own app."""
    parser = app_parser("own app")
    for option in OPTIONS:
        parser.add_argument(f"--{option}", dest="own", action=Grouped)
    return parser


def read_request(argv: Sequence[str]) -> Request:
    """Parses the options; Failure if one lacks its value."""
    parser = Parser("matrix", parents=[own_parser()])
    parser.add_argument("--setup", action="store_true", dest="set_up")
    for option in ("--swarm", "--quiet", "--dry-run"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--list", nargs="?", const="", dest="listed")
    for option in ("--resume", "--again"):
        parser.add_argument(option, type=given, help="the name of a run")
    for option in MACHINES:
        parser.add_argument(f"--{option}", type=given, dest="machines", action=Grouped)
    for option, name in PACKAGES.items():
        parser.add_argument(option, type=given, action="append", dest=name)
    request = Request()
    _, request.selection = parser.parse_known_args(argv, request)
    if request.quiet:
        os.environ["BENCH_QUIET"] = "1"
    for option, name in PACKAGES.items():
        request.selection += [word for package in getattr(request, name) for word in (option, _there(package))]
    return request


def quiet() -> list[str]:
    """The option --quiet, if it was given."""
    return ["--quiet"] if os.environ.get("BENCH_QUIET") else []


def _there(package: str) -> str:
    """A source by its absolute path, so that the run can be repeated from another folder."""
    # Not by pathlib, which fails where this user may not look.
    if os.path.exists(package):
        return os.path.realpath(package)
    folder, at, ref = package.rpartition("@")
    return f"{os.path.realpath(folder)}{at}{ref}" if at and ref and os.path.isdir(folder) else package


def _is_of_two_refs(name: str) -> bool:
    return (ROOT / "results" / Path(name).name / REFS).exists()


def need_results(folder: Path) -> None:
    """Failure, before anything is built in vain, unless a run can be written to this folder."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    why = in_the_way(folder)
    if why:
        user = pwd.getpwuid(os.geteuid()).pw_name
        raise Failure(USER, f"cannot write to {folder}: {why}; free some space there, or make it writable for {user}")
    facts = folder.stat()
    if not os.geteuid() and facts.st_uid and not facts.st_mode & stat.S_IWOTH:
        whose = f"it belongs to user {facts.st_uid}, and containers do not have root's privileges"
        raise Failure(USER, f"cannot write to {folder}: {whose}: run this as that user, or chown it")


def set_up() -> None:
    """Runs scripts/setup.sh if needed: it prints its own errors, and is in this process group, so Ctrl-C reaches it."""
    if harness.is_set_up():
        harness.print_lacks()
        return
    process = subprocess.Popen([str(ROOT / "scripts/setup.sh")])
    try:
        status = process.wait()
    except Interrupted:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(SETUP_ENDS_S)
        raise
    if status:
        raise SystemExit(status)


def need_origin(folder: Path) -> None:
    """Failure if a run to resume is neither planned in this clone nor being measured: its files say what is started."""
    started = text_of(folder / compose.FILE)
    written_here = is_from_here(ROOT, folder) and (not started or is_noted(ROOT, started))
    if not written_here and not is_measured(folder):
        words = f"{folder.name} was not planned in this clone, or edited since, and its files say what is started"
        raise Failure(USER, f"{words}: start a new run with --again {folder.name}")


def check_machines(request: Request) -> list[str]:
    """The values of the options for two machines, if given; Failure for options that several machines exclude."""
    given, words = request.machines, [*(["--app"] if "folder" in request.own else []), *request.selection]
    if given:
        if request.resume:
            raise Failure(USER, "--resume uses the machines that the run began with: leave out --server-context")
        if request.swarm:
            raise Failure(USER, "--server-context is for two machines without a swarm: leave out --swarm")
        if len(given) < len(MACHINES):
            together = "--server-context, --loadgen-context and --server-address"
            raise Failure(USER, f"{together} belong together: give all three")
    if given or request.swarm:
        for word in words:
            option = word.partition("=")[0]
            if option in ("--app", "--target") or word == "--profile":
                raise Failure(USER, f"{option} works on this machine only: leave it out in a run on several")
    return [given[option] for option in MACHINES if option in given]


def repeat(request: Request) -> tuple[str, str]:
    """Takes over the options of a previous run, unless given anew; returns its folder, and its local base images."""
    then = json.loads(bench(ROOT, "again", request.again, *request.selection))
    options, gone = own_parser().parse_known_args(then["own_options"], Request())
    if gone:
        raise Failure(USER, f"{request.again}: '{gone[0]}' is no longer an option for your own app")
    was = options.own
    taken_over = [f"--{name} {shlex.quote(was[name])}" for name in ON_HOST if name in was and name not in request.own]
    if "folder" in was and "folder" not in request.own:
        taken_over.insert(0, f"--app {shlex.quote(was['folder'])} {shlex.quote(was['app'])}")
    repeated = read_request(then["selection"])
    for option, name in PACKAGES.items():
        packages = [] if request.packages or getattr(request, name) else getattr(repeated, name)
        taken_over += [f"{option} {shlex.quote(package)}" for package in packages if is_source(package)]
    if taken_over and not is_from_here(ROOT, ROOT / then["folder"]):
        words = f"{request.again} was not planned in this clone, and these of its options read files or run commands"
        raise Failure(USER, f"{words}: give them again, if you trust them: {' '.join(taken_over)}")
    if taken_over:
        say(f"as in {request.again}: {' '.join(taken_over)}")
    request.own = {**was, **request.own}
    if then["own_app"] and not request.own.get("app"):
        again = f"give --app FOLDER {then['own_app']} and its other options again"
        raise Failure(USER, f"{request.again} was planned before the options of --app were saved: {again}")
    # Sources are looked up where they were then, or where a new --package says.
    request.selection = then["selection"]
    request.packages, request.together = repeated.packages, repeated.together
    asks = ("image", "inspect", "--format", '{{join .RootFS.Layers ","}}')
    layers = {base: answer(*asks, base, context="") for base in then["bases"]}
    return then["folder"], "".join(f"{base}={found} " for base, found in layers.items() if found)
