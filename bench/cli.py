"""Verbs that make and follow a plan: generate, list, plan, steps. I/O lives here."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from bench import compose, cpus, matrix, plan, readme
from bench.errors import UserError
from bench.estimates import LOOKS
from bench.files import write_file
from bench.host import checkout, host_facts
from bench.knobs import read_env, read_knobs

RESULTS = Path("results")
# What decides how a figure comes about: a run is not continued when any of it has changed.
HARNESS = ("docker-compose.yml", "loadgen", "postgres", "bench", "scripts", "services", "upstream")
# What only shows figures: a run may be compared with one that was shown otherwise.
SHOWS = ("bench/exports", "bench/page", "bench/tables")


def generate(argv: Sequence[str]) -> int:
    """`generate FILE`: print docs/catalogue.md, or that file of services/, as the matrix says."""
    texts = {
        "compose.yml": compose.compose_file,
        "bench.yml": compose.bench_file,
        "bases.tsv": compose.bases_file,
        "catalogue.md": readme.catalogue_file,
    }
    if len(argv) != 1 or argv[0] not in texts:
        raise UserError(f"generate takes one of: {', '.join(texts)}")
    print(texts[argv[0]](matrix.load()), end="")
    return 0


def list_cells(argv: Sequence[str]) -> int:
    """`list SELECTION`: the cells and the time that they are expected to take; runs nothing."""
    the_plan, _, _ = _plan(_selection(argv))
    for cell in the_plan.cells:
        print(f"{cell.service.name}  {cell.scenario}  {cell.tool}  {cell.level.name}")
    for skip in the_plan.skips:
        print(
            "skipped:",
            *(part for part in (skip.service, skip.scenario, skip.tool) if part),
            f"({skip.cause})",
        )
    for pair in the_plan.pairs:
        print(f"{'control' if pair.control else 'pair'}:", _pair_words(pair))
    for null in the_plan.nulls:
        print(f"control: null  {null.scenario}  {null.tool}  {null.level.name}")
    compared = sum(not pair.control for pair in the_plan.pairs)
    least, most = (the_plan.total_seconds(rounds) for rounds in (LOOKS[0], LOOKS[-1]))
    print(
        f"{len(the_plan.cells)} cells x {the_plan.solo_rounds} rounds on {len(the_plan.services)} services, "
        + (f"{compared} pairs x {LOOKS[0]} to {the_plan.duet_rounds} rounds, " if compared else "")
        + f"{len(the_plan.skips)} skipped, about {_minutes(least)}"
        + (f" to {_minutes(most)}" if most > least else "")
    )
    return 0


def make(argv: Sequence[str]) -> int:
    """`plan SELECTION`: make results/RUN with run.json, plan.jsonl, services.yml, knobs.env; print RUN."""
    print(_make(_selection(argv)).name)
    return 0


def contract(argv: Sequence[str]) -> int:
    """`contract NAME...`: make a run folder that only verifies these services (globs), and print its name."""
    names = [word for word in argv if not word.startswith("--images=")]
    options = _selection([word for word in argv if word not in names])
    the_matrix = matrix.load().with_selftests(names)
    knobs = cpus.resolve(read_knobs(os.environ))
    chosen = the_matrix.select(names, [s.name for s in the_matrix.services], "service")
    reachable = _reachable(the_matrix, knobs, options.images)
    wanted = [s for s in the_matrix.services if s.name in set(chosen)]
    skipped = [(s.name, s.skip or "base image not reachable") for s in wanted if s.skip or not reachable(s)]
    services = [s for s in wanted if s.name not in dict(skipped)]
    if not services:
        raise UserError(
            "none of these services can be run here: their base image is not reachable, or they are skipped"
        )
    offered = [route for route in the_matrix.routes.values() if not route.selftest]
    routes = {s.name: [r.name for r in offered if not s.lacking(r)] for s in services}
    folder = _folder("contract")
    facts = {"schema": 1, "run": folder.name, "preset": "contract", "tables": [], "knobs": knobs}
    facts |= _provenance() | {"services": _facts(the_matrix, knobs, services, routes)}
    facts["skipped"] = [{"service": name, "cause": cause} for name, cause in skipped]
    _write(folder, the_matrix, services, [], facts)
    print(folder.name)
    return 0


def _make(options: argparse.Namespace) -> Path:
    the_plan, the_matrix, knobs = _plan(options)
    seed = options.seed if options.seed is not None else int(knobs["SEED"])
    folder = _folder(the_plan.preset.name, options.folder)
    lines = plan.measurements(the_plan, seed)
    facts = _run(folder.name, the_plan, knobs, seed, options)
    facts["services"] = _facts(the_matrix, knobs, the_plan.services, _routes(the_plan))
    _write(folder, the_matrix, the_plan.services, lines, facts)
    return folder


def _folder(label: str, wanted: Path | None = None) -> Path:
    folder = wanted or RESULTS / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{label}"
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise UserError(f"{folder} is there already: wait a second, or move it away") from error
    except OSError as error:
        raise UserError(f"cannot make {folder}: {error.strerror}; results/ must be yours to write") from error
    return folder


def _write(
    folder: Path,
    the_matrix: matrix.Matrix,
    services: Iterable[matrix.Service],
    lines: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
) -> None:
    """The plan's files; run.json comes last, so that a folder with it is whole, and names the others' content."""
    asked = any("pair" in line and line["database"] for line in lines)
    write_file(folder / "services.yml", compose.run_services(the_matrix, services, second_database=asked))
    limits = {"MAX_TIME_S": f"{facts['max_time_s']:.0f}"} if facts.get("max_time_s") else {}
    write_file(folder / "knobs.env", "".join(f"{k}={v}\n" for k, v in (facts["knobs"] | limits).items()))
    write_file(folder / "plan.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    names = ("services.yml", "knobs.env", "plan.jsonl")
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    write_file(folder / "run.json", json.dumps({**facts, "sha256": hashes}, indent=1) + "\n")


def commands(argv: Sequence[str]) -> int:
    """`commands SELECTION`: every command line of the load tools, in the order of the plan; runs nothing."""
    with tempfile.TemporaryDirectory() as folder:
        options = _selection(argv)
        options.folder = Path(folder) / "dry-run"
        _make(options)
        for line in map(json.loads, (options.folder / "plan.jsonl").read_text().splitlines()):
            done = subprocess.run(
                ["loadgen/measure", "command", options.folder, line["id"]],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise UserError(done.stderr.strip())
            print(f"{line['id']}  {line['service']}  {done.stdout.strip()}")
    return 0


def find(argv: Sequence[str]) -> int:
    """`find RUN`: the name of a run given by name or path; UserError when it is not one."""
    print(find_run(argv[0] if argv else "").name)
    return 0


def resume(argv: Sequence[str]) -> int:
    """`resume RUN [--max-time MINUTES]`: for a run that goes on: what changed since is not mixed with what was.

    Prints the run's name and, where there is one, the limit in seconds: it is that of one call, not of the run.
    """
    parser = Parser(prog="matrix.sh --resume RUN", allow_abbrev=False, add_help=False)
    parser.add_argument("run")
    parser.add_argument("--max-time", type=_minutes_of)
    options = parser.parse_args(argv)
    folder = find_run(options.run)
    harness = json.loads((folder / "run.json").read_text())["harness"]
    if harness["hash"] != harness_hash():
        was = harness["version"]
        raise UserError(
            f"the project has changed since {folder.name} was planned: start a new run, or go back to {was}"
        )
    print(folder.name, "" if options.max_time is None else f"{options.max_time:.0f}")
    return 0


def steps(argv: Sequence[str]) -> int:
    """`steps RUN`: what is still to be measured, one tab-separated line each: id, services, dir, seconds, label.

    A pair is one step, with both of its services, as long as it has no verdict.
    """
    from bench.build import settled_pairs
    from bench.rundir import read_run

    folder = find_run(argv[0] if argv else "")
    lines = [json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines()]
    units: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        units.setdefault(line.get("unit", line["id"]), []).append(line)
    duets = any(line.get("mode") == "duet" for line in lines)
    settled = settled_pairs(read_run(str(folder))) if duets else set()
    pairs = {line["pair"] for line in lines if line.get("mode") == "duet" and not _control(line["pair"])}
    # A control has no verdict of its own: it goes on with the pairs, or with the solo windows.
    solo_rounds = json.loads((folder / "run.json").read_text()).get("rounds", 0)
    for unit, group in units.items():
        first = group[0]
        mode, number = first.get("mode", "solo"), first["round"]
        over = number > solo_rounds and pairs <= settled
        if (mode == "duet" and first["pair"] in settled) or (mode != "solo" and over):
            continue
        if all(_measured(folder / line["dir"]) for line in group):
            continue
        services = list(dict.fromkeys(line["service"] for line in group))
        label = f"{' and '.join(services)} {first['scenario']} {first['tool']} {first['level']}"
        folder_of = first["dir"] if mode != "duet" else first["dir"].rpartition("/")[0]
        names = ",".join(line["service"] for line in group[:2]) if mode == "duet" else first["service"]
        print(unit, names, folder_of, round(first["seconds"]), label, sep="\t")
    return 0


def services(argv: Sequence[str]) -> int:
    """`services RUN`: tab-separated lines of the run's services: name, image, interface of waiting, routes, base."""
    folder = find_run(argv[0] if argv else "")
    for name, facts in json.loads((folder / "run.json").read_text())["services"].items():
        waits = "--concurrent" if facts["concurrent"] else "--sequential"
        print(name, facts["image"], waits, ",".join(facts["routes"]), facts["base_image"], sep="\t")
    return 0


def sample(argv: Sequence[str]) -> int:
    """`sample SEED`: services that are worth verifying on every change, space-separated.

    On the default Python all bare apps (every server) and every framework on its first server; on each Python one
    more of all stacks, as the seed says.
    """
    if len(argv) != 1:
        raise UserError("sample takes a seed; see scripts/test.sh --help")
    the_matrix = matrix.load()
    rng = random.Random(argv[0])
    chosen: dict[str, None] = {}
    for python in the_matrix.pythons:
        here = [
            s for s in the_matrix.services if (s.python, s.base) == (python, the_matrix.default_base) and not s.skip
        ]
        if python == the_matrix.default_python:
            chosen |= dict.fromkeys(s.name for s in here if s.framework.name == s.interface)
            chosen |= dict.fromkeys({s.framework.name: s.name for s in reversed(here)}.values())
        chosen |= dict.fromkeys(s.name for s in rng.sample(here, min(1, len(here))))
    print(*chosen)
    return 0


def _control(pair: str) -> bool:
    return pair.startswith("aa")


def _pair_words(pair: plan.Pair) -> str:
    cell = pair.a
    return f"{cell.service.name}  {pair.b.service.name}  {cell.scenario}  {cell.tool}  {cell.level.name}"


def find_run(name: str, needs: str = "plan.jsonl") -> Path:
    """The folder of a run that has the file `needs`, by its name or path; UserError when it is not one."""
    for folder in (Path(name), RESULTS / Path(name).name):
        if name and (folder / "run.json").is_file() and (folder / needs).is_file():
            return folder
    runs = sorted(p.parent.name for p in RESULTS.glob("*/run.json"))
    raise UserError(f"'{name}' is not a results folder; there are: {', '.join(runs[-5:]) or 'none yet'}")


def harness_hash(parts: Iterable[str] = HARNESS) -> str:
    """sha256 over the names and bytes of everything (or of these parts) that decides how a figure comes about."""
    digest = hashlib.sha256()
    for top in parts:
        paths = [Path(top)] if Path(top).is_file() else sorted(Path(top).rglob("*"))
        for path in paths:
            shows = any(path.is_relative_to(folder) for folder in SHOWS)
            if path.is_file() and not shows and "__pycache__" not in path.parts and path.name != ".env":
                digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _measured(folder: Path) -> bool:
    try:
        meta = json.loads((folder / "meta.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and meta.get("outcome") == "measured"


def _plan(options: argparse.Namespace) -> tuple[plan.Plan, matrix.Matrix, dict[str, str]]:
    the_matrix = matrix.load()
    knobs = cpus.resolve(read_knobs(os.environ))
    reachable = _reachable(the_matrix, knobs, options.images)
    fields = {k: v for k, v in vars(options).items() if k in plan.Selection.__dataclass_fields__}
    loadgen_cpus = len(cpus.parse_list(knobs["LOADGEN_CPUS"]))
    the_plan = plan.make_plan(the_matrix, plan.Selection(**fields), knobs, reachable, loadgen_cpus)
    if the_plan.preset.workers:
        knobs["WORKERS"] = str(the_plan.preset.workers)
    return the_plan, the_matrix, knobs


def _reachable(
    the_matrix: matrix.Matrix, knobs: Mapping[str, str], images: str | None
) -> Callable[[matrix.Service], bool]:
    """Whether the base image of a service is on this machine (`images`: a file with their names) or can be had.

    services/.env says how, where scripts/setup.sh met a registry that does not answer or lacks images.
    """
    have = set(Path(images).read_text().split()) if images else None
    local = read_env(Path("services/.env"))
    missing = local.get("MISSING_BASES", "").split()

    def reachable(service: matrix.Service) -> bool:
        name = the_matrix.base_image(service, knobs)
        if have is None or name in have:
            return True
        if "LOCAL_PYTHON_IMAGE" in local:
            return the_matrix.suite(service.python, service.base) is not None
        return name not in missing

    return reachable


def _run(
    name: str, the_plan: plan.Plan, knobs: Mapping[str, str], seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "schema": 1,
        "run": name,
        "preset": the_plan.preset.name,
        "title": the_plan.preset.title,
        "published": the_plan.preset.published,
        "tables": list(the_plan.preset.tables),
        "mode": the_plan.preset.mode,
        "rounds": the_plan.solo_rounds,
        "duet_rounds": the_plan.duet_rounds,
        "max_time_s": options.max_time,
        "seed": seed,
        "command": options.command_line,
        "knobs": dict(knobs),
        **_provenance(),
        "pairs": [
            {"name": p.name, "a": p.a.service.name, "b": p.b.service.name, "scenario": p.a.scenario}
            | {"tool": p.a.tool, "level": p.a.level.name, "waits": p.a.route.waits}
            for p in the_plan.pairs
        ],
        "skipped": [
            {"service": s.service, "scenario": s.scenario, "tool": s.tool, "cause": s.cause} for s in the_plan.skips
        ],
    }


def _routes(the_plan: plan.Plan) -> dict[str, list[str]]:
    """The routes that are verified, by service: those of its cells; the contract does not know what self-tests ask."""
    needed: dict[str, dict[str, None]] = {}
    for cell in the_plan.cells:
        needed.setdefault(cell.service.name, {})["json" if cell.route.selftest else cell.route.name] = None
    return {name: list(routes) for name, routes in needed.items()}


def _provenance() -> dict[str, Any]:
    state = checkout(os.environ)
    images = dict(pair.split("=", 1) for pair in os.environ.get("BENCH_IMAGES", "").split() if "=" in pair)
    return {
        "harness": {
            # No git beside `docker-compose up bench`: the commit has to do.
            "version": os.environ.get("BENCH_VERSION") or (state["commit"] or "unknown")[:12],
            "hash": harness_hash(),
            **state,
            "parts": {part: harness_hash([part]) for part in HARNESS},
            "images": images,
        },
        "containers": os.environ.get("BENCH_CONTAINERS", "up for the whole run, started by Compose"),
        "engine": os.environ.get("BENCH_ENGINE"),
        "host": host_facts(),
    }


def _facts(
    the_matrix: matrix.Matrix,
    knobs: Mapping[str, str],
    services: Iterable[matrix.Service],
    routes: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, Any]]:
    """What run.json says of each service, with the routes that are verified."""
    return {
        s.name: {
            "stack": s.stack,
            "server": s.server.name,
            "framework": s.framework.name,
            "interface": s.interface,
            "python": s.python,
            "base": s.base,
            "base_image": the_matrix.base_image(s, knobs),
            "package": s.package,
            "concurrent": s.server.concurrent,
            "image": s.image,
            "routes": list(routes[s.name]),
        }
        for s in services
    }


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _selection(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(prog="matrix.sh", allow_abbrev=False, add_help=False)
    parser.add_argument("--preset")
    for flag in ("stack", "framework", "server", "base", "package", "scenario", "tool", "level", "python"):
        parser.add_argument(f"--{flag}", dest=f"{flag}s", type=_names, default=[], action="extend")
    parser.add_argument("--duration", type=_number)
    parser.add_argument("--mode")
    parser.add_argument("--controls", choices=("all", "null", "none"), default="all")
    parser.add_argument("--twin", default="")
    parser.add_argument("--max-time", type=_minutes_of)
    parser.add_argument("--rounds", type=_whole)
    parser.add_argument("--seed", type=_whole)
    parser.add_argument("--images")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(argv)
    for key, value in vars(options).items():
        if isinstance(value, list):
            setattr(options, key, tuple(value))
    options.command_line = [word for word in argv if not word.startswith("--images=")]
    return options


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None


def _minutes_of(text: str) -> float:
    """Seconds of so many minutes."""
    minutes = _number(text)
    if not 0 < minutes < 100_000:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of minutes above 0")
    return minutes * 60


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number")
    return int(text)


class Parser(argparse.ArgumentParser):
    """argparse that says one line and leaves the exit to main."""

    def error(self, message: str) -> NoReturn:  # noqa: D102
        raise UserError(f"{message}; see scripts/matrix.sh --help")
