"""`list`, `plan`, `contract`, `commands`, `find`, `resume`: from a selection to the folder of a run."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.cli.arguments import minutes_as_seconds, parse_selection
from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.drive.step_file import write_step
from bench.drive.steps import read_steps
from bench.matrix.bases import reachable_bases
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix
from bench.matrix.settings import read_settings
from bench.plan.cells import Pair, Plan
from bench.plan.cpus import parse_list, resolve
from bench.plan.interim_looks import LOOKS
from bench.plan.make import make_plan
from bench.plan.order import measurements
from bench.plan.selection import Selection
from bench.run.folder import find_run, make_folder
from bench.run.provenance import harness_hash, provenance
from bench.run.writer import routes_to_verify, run_facts, service_facts, write_run


def list_verb(argv: Sequence[str]) -> int:
    """`list SELECTION`: the cells and the time that they are expected to take; runs nothing."""
    the_plan, _, _ = plan_of(parse_selection(argv))
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


def make_plan_verb(argv: Sequence[str]) -> int:
    """`plan SELECTION`: make results/RUN with all that a run begins with; print RUN."""
    print(_make(parse_selection(argv)).name)
    return 0


def contract_verb(argv: Sequence[str]) -> int:
    """`contract NAME...`: make a run folder that only verifies these services (globs), and print its name."""
    names = [word for word in argv if not word.startswith("--images=")]
    options = parse_selection([word for word in argv if word not in names])
    the_matrix = load_matrix().with_selftests(names)
    knobs = resolve(read_settings(os.environ))
    chosen = the_matrix.select(names, [s.name for s in the_matrix.services], "service")
    reachable = reachable_bases(the_matrix, knobs, options.images)
    wanted = [s for s in the_matrix.services if s.name in set(chosen)]
    skipped = [(s.name, s.skip or "base image not reachable") for s in wanted if s.skip or not reachable(s)]
    services = [s for s in wanted if s.name not in dict(skipped)]
    if not services:
        raise UserError(
            "none of these services can be run here: their base image is not reachable, or they are skipped"
        )
    offered = [route for route in the_matrix.routes.values() if not route.selftest]
    routes = {s.name: [r.name for r in offered if not s.lacking(r)] for s in services}
    folder = make_folder("contract")
    facts = {"schema": 1, "run": folder.name, "preset": "contract", "tables": [], "knobs": knobs}
    facts |= provenance() | {"services": service_facts(the_matrix, knobs, services, routes)}
    facts["skipped"] = [{"service": name, "cause": cause} for name, cause in skipped]
    write_run(folder, the_matrix, services, [], facts)
    print(folder.name)
    return 0


def _make(options: argparse.Namespace) -> Path:
    the_plan, the_matrix, knobs = plan_of(options)
    seed = options.seed if options.seed is not None else int(knobs["SEED"])
    folder = make_folder(the_plan.preset.name, options.folder)
    lines = measurements(the_plan, seed)
    facts = run_facts(folder.name, the_plan, knobs, seed, options)
    facts["services"] = service_facts(the_matrix, knobs, the_plan.services, routes_to_verify(the_plan))
    write_run(folder, the_matrix, the_plan.services, lines, facts)
    return folder


def commands_verb(argv: Sequence[str]) -> int:
    """`commands SELECTION`: every command line of the load tools, in the order of the plan; runs nothing."""
    with tempfile.TemporaryDirectory() as folder:
        options = parse_selection(argv)
        options.folder = Path(folder) / "dry-run"
        _make(options)
        for step in read_steps((options.folder / "plan.jsonl").read_text()):
            write_step(options.folder, step.lines, os.environ)
            for line in step.lines:
                names = [f"{line['window']}{line['side']}"] if step.mode == "duet" else []
                command = ["loadgen/measure", "command", options.folder, *names]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise UserError(done.stderr.strip())
                print(f"{line['id']}  {line['service']}  {done.stdout.strip()}")
    return 0


def find_verb(argv: Sequence[str]) -> int:
    """`find RUN`: the name of a run given by name or path; UserError when it is not one."""
    print(find_run(argv[0] if argv else "").name)
    return 0


def resume_verb(argv: Sequence[str]) -> int:
    """`resume RUN [--max-time MINUTES]`: for a run that goes on: what changed since is not mixed with what was.

    Prints the run's name and, where there is one, the limit in seconds: it is that of one call, not of the run.
    """
    parser = Parser("matrix.sh --resume RUN")
    parser.add_argument("run")
    parser.add_argument("--max-time", type=minutes_as_seconds)
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


def _pair_words(pair: Pair) -> str:
    cell = pair.a
    return f"{cell.service.name}  {pair.b.service.name}  {cell.scenario}  {cell.tool}  {cell.level.name}"


def plan_of(options: argparse.Namespace) -> tuple[Plan, Matrix, dict[str, str]]:
    """The plan that the options ask for, the matrix, and the settings that hold."""
    the_matrix = load_matrix()
    knobs = resolve(read_settings(os.environ))
    reachable = reachable_bases(the_matrix, knobs, options.images)
    fields = {k: v for k, v in vars(options).items() if k in Selection.__dataclass_fields__}
    loadgen_cpus = len(parse_list(knobs["LOADGEN_CPUS"]))
    the_plan = make_plan(the_matrix, Selection(**fields), knobs, reachable, loadgen_cpus)
    if the_plan.preset.workers:
        knobs["WORKERS"] = str(the_plan.preset.workers)
    return the_plan, the_matrix, knobs


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
