"""Verbs that plan runs: from a selection to its list of cells or load tool commands, or to a run's folder."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.analysis.runs.host_state import HostState, host_state
from bench.cli.arguments import check_own_selection, parse_selection
from bench.cli.repeat import again_lines, check_services, settings_then
from bench.core.arguments import Parser
from bench.core.errors import UserError, unknown
from bench.core.formats import joined, plural
from bench.load.failures import Failed, command_line
from bench.load.task import task_of
from bench.load.verbs import command
from bench.matrix.bases import reachable_bases
from bench.matrix.knobs import check_quotas
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix, python_label, select
from bench.matrix.packages import FOLDER as PACKAGES
from bench.matrix.packages import wheels_of, write_wheels
from bench.matrix.settings import read_settings
from bench.own_app.app import FOLDER, LOCKS, read_app, with_own_app
from bench.own_app.targets import write_load_files
from bench.plan.cells import Plan
from bench.plan.cpus import resolve
from bench.plan.interim_looks import table_looks
from bench.plan.make import make_plan
from bench.plan.measurement import SkippedCell
from bench.plan.order import measurements
from bench.plan.profile import check_profile
from bench.plan.profile import words as profile_words
from bench.plan.refs import MINUTES, REFS, Refs, read_refs
from bench.plan.selection import ONLY_NAMED, Selection, select_pythons
from bench.plan.variants import Variant
from bench.run.facts import read_run_facts
from bench.run.folder import make_folder, whole_or_gone
from bench.run.provenance import provenance
from bench.run.reader import read_run
from bench.run.writer import routes_to_verify, run_facts, service_facts, write_run
from bench.schedule.steps import steps_of
from bench.tools import OPEN_LOOP
from bench.words.advice import WantedRun, expectations, preparation

Planned = tuple[Plan, Matrix, dict[str, str]]
"""A plan, the matrix, and the effective settings."""
UNKNOWN = HostState()
# Estimated seconds per service before the first measurement: verifying it, building its image.
VERIFY_S, BUILD_S = 3.0, 15.0


def list_verb(argv: Sequence[str]) -> None:
    """`list SELECTION`: print the cells and how long they are expected to take; measure nothing."""
    options = parse_selection(argv)
    plan, matrix, settings = plan_of(options)
    for cell in plan.cells:
        print(f"{cell.service.name}  {cell.scenario}  {cell.tool}  {cell.level}")
    for skip in plan.skips:
        print("skipped:", *(part for part in (skip.service, skip.scenario, skip.tool) if part), f"({skip.cause})")
    for null in plan.nulls:
        print(f"control: null  {null.scenario}  {null.tool}  {null.level}")
    if options.profile:
        print(profile_words(plan))
    for table in plan.tables:
        cell = table.first
        print(f"table in turns: {cell.scenario}  {cell.tool}  {cell.level}  {len(table.cells)} services")
        for level in table.shares:
            print(f"its common rate: {level}  {OPEN_LOOP}  {plan.rate_seconds:g} s per service and round")
    print(_summary(plan))
    again = facts_of("", plan, matrix, settings, options)["again"]["words"] if options.again else ()
    wanted = wanted_of(plan, options)
    for line in [*preparation(wanted), *again, *expectations(UNKNOWN, wanted)]:
        print(line, file=sys.stderr)


def _summary(plan: Plan) -> str:
    """How much a plan measures, and how long that takes."""
    first = min(table_looks(plan.turn_rounds)[0], plan.turn_rounds)
    least, most = plan.total_seconds(first), plan.total_seconds(plan.turn_rounds)
    named = ((plan.tables, "table"), (plan.alone, "cell"), (plan.events, "event"))
    tables, alone, events = (plural(len(some), noun) for some, noun in named)
    return (
        f"{plural(len(plan.services), 'service')}, "
        + (f"{tables} in turns x {first} to {plan.turn_rounds} rounds, " if plan.tables else "")
        + (f"{alone} alone x {plural(plan.solo_rounds, 'round')}, " if plan.alone else "")
        + (f"{events} x up to {plural(plan.event_rounds, 'round')}, " if plan.events else "")
        + f"{len(plan.skips)} skipped, about {_minutes(least)}"
        + (f" to {_minutes(most)}" if most > least else "")
    )


def plan_verb(argv: Sequence[str]) -> None:
    """`plan SELECTION`: make results/RUN with all files that a run starts with; print RUN.

    Unless `--quiet`, how long it takes and whatever may keep it from giving an answer goes to standard error.
    """
    options = parse_selection(argv)
    composed = not os.environ.get("BENCH_CONTAINERS")
    if composed:
        for name in ("vary", "flags", "target", "profile", "again"):
            if getattr(options, name):
                instead = "use scripts/matrix.sh, not docker-compose up bench"
                raise UserError(f"--{name} needs containers of its own: {instead}")
    # Compose has just started the services: they are what keeps the host busy.
    planned = plan_of(options)
    before = [_summary(planned[0]), *preparation(wanted_of(planned[0], options))]
    folder = make_run(options, None, lambda: replace(host_state(), busy=None) if composed else host_state(), planned)
    facts = read_run_facts(folder)
    left_out = _left_out(facts.skipped, each_service=bool(options.vary or options.sides or options.wheels))
    notes = [*facts.again.words, *(facts.refs.notes if facts.refs else ())]
    for line in [] if options.quiet else [*before, *notes, *left_out, *facts.expected]:
        print(line, file=sys.stderr)
    print(folder.name)


def _left_out(skipped: Iterable[SkippedCell], *, each_service: bool) -> Iterator[str]:
    """A line for all servers that must be named; with `each_service`, one for each other service that is left out."""
    skips = [skip for skip in skipped if skip.scenario is None and skip.tool is None]
    for skip in skips if each_service else []:
        if skip.cause != ONLY_NAMED:
            yield f"left out: {skip.service}: {skip.cause}"
    if servers := [skip.service for skip in skips if skip.cause == ONLY_NAMED]:
        yield f"left out: {joined(servers)}: {ONLY_NAMED}"


def contract_verb(argv: Sequence[str]) -> None:
    """`contract NAME...`: make a run that only verifies these services (globs); print its name."""
    names = [word for word in argv if not word.startswith("--images=")]
    options = parse_selection([word for word in argv if word not in names])
    matrix = load_matrix().with_selftests(names)
    settings = resolve(read_settings(os.environ))
    chosen = select(names, [s.name for s in matrix.services], "service")
    reachable = reachable_bases(matrix, settings, options.images)
    wanted = [s for s in matrix.services if s.name in set(chosen)]
    skipped = [(s.name, s.skip or "base image not reachable") for s in wanted if s.skip or not reachable(s)]
    if not (services := [s for s in wanted if s.name not in dict(skipped)]):
        raise UserError("none of these services can run here: each is skipped, or its base image is not reachable")
    offered = [route for route in matrix.routes.values() if not route.selftest]
    routes = {s.name: [r.name for r in offered if not s.lacking(r)] for s in services}
    folder = make_folder("contract")
    facts = {"schema": 1, "run": folder.name, "preset": "contract", "knobs": settings}
    facts |= provenance() | {"services": service_facts(matrix, settings, services, routes)}
    facts["skipped"] = [{"service": name, "cause": cause} for name, cause in skipped]
    with whole_or_gone(folder):
        write_run(folder, matrix, services, [], facts)
    print(folder.name)


def commands_verb(argv: Sequence[str]) -> None:
    """`commands SELECTION`: print every command line of the load tools, in the order of the plan; measure nothing."""
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(parse_selection(argv), Path(folder) / "dry-run")
        source = read_run(str(run))
        for step in steps_of(source.planned):
            for line in step.lines:
                if line.share and line.rate is None:
                    print(f"{line.id}  {line.service}  {line.tool} at {line.share:.0%} of the slowest service's speed")
                    continue
                try:
                    words = command_line(command(task_of(str(run), line)))
                except Failed as failure:
                    raise UserError(str(failure)) from failure
                print(f"{line.id}  {line.service}  {words}")
        for note in [*source.facts.again.words, *source.facts.expected]:
            print(note, file=sys.stderr)


def package_pythons_verb(argv: Sequence[str]) -> None:
    """`package-pythons SELECTION`: print label and version of each selected Python, a line each."""
    options = parse_selection(argv)
    matrix, name = load_matrix(), options.preset or "all"
    resolve(read_settings(os.environ))
    if name not in matrix.presets:
        raise unknown("preset", name, matrix.presets)
    for python in select_pythons(matrix, matrix.presets[name], options.pythons, narrow=options.preset is not None):
        print(python_label(python), python)


def packages_verb(argv: Sequence[str]) -> None:
    """`packages ITEMS OUT LABEL...`: check the wheels in OUT that were built from ITEMS; write OUT/packages.json."""
    parser = Parser("matrix.sh")
    parser.add_argument("items", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("labels", nargs="+")
    options = parser.parse_args(argv)
    write_wheels(options.out, wheels_of(options.items, options.out, options.labels))


def make_run(
    options: argparse.Namespace,
    folder: Path | None = None,
    host: Callable[[], HostState] = lambda: UNKNOWN,
    planned: Planned | None = None,
) -> Path:
    """Make a run's folder (None: a new one in results/) with the files of its plan, and return it.

    `host` is called once the options are known to be valid, because looking at the host takes a second. `planned`: what
    `plan_of` has made of the options.
    """
    plan, matrix, settings = planned or plan_of(options)
    app = read_app(options.own_app) if options.own_app else None
    folder = make_folder(plan.preset.name, folder)
    with whole_or_gone(folder):
        facts = facts_of(folder.name, plan, matrix, settings, options)
        facts["expected"] = expectations(host(), wanted_of(plan, options))
        if app:
            shutil.copytree(options.own_app, folder / FOLDER)
            for scenario in app.scenarios:
                write_load_files(folder, scenario, app.targets_of(scenario))
            facts["own_app"] = app.facts() | {"cpu_hour_price": options.cpu_hour_price}
        save_refs(options, folder)
        if options.wheels:
            shutil.copytree(options.packages_in, folder / PACKAGES)
            facts["packages"] = options.wheels.facts()
        write_run(folder, matrix, plan.services, measurements(plan, facts["seed"]), facts)
    return folder


def facts_of(
    name: str, plan: Plan, matrix: Matrix, settings: Mapping[str, str], options: argparse.Namespace
) -> dict[str, Any]:
    """run.json of a planned run, without `expected`; its key `again` has the repeated run, and what differs from it."""
    seed = options.seed if options.seed is not None else int(settings["SEED"])
    facts = run_facts(name, plan, settings, seed, options)
    apps = {"": options.own_app, HEAD: options.own_head}
    locks = {suffix: app / "locks" for suffix, app in apps.items() if app}
    facts["services"] = service_facts(matrix, settings, plan.services, routes_to_verify(plan), locks)
    if not options.again:
        return facts | {"again": {"run": None, "words": []}}
    lines = [one.to_line() for one in measurements(plan, seed)]
    words = again_lines(options.again, facts, lines, plan.services, options.own_app)
    return facts | {"again": {"run": options.again.name, "words": words}}


def wanted_of(plan: Plan, options: argparse.Namespace) -> WantedRun:
    """The input for a plan's expectations; all images are assumed to be there if no list of them is given."""
    images = {f"{service.image}:latest" for service in plan.services if not service.url}
    missing = 0 if options.images is None else len(images - options.images)
    return WantedRun(
        mode="events" if plan.preset.events else plan.preset.mode,
        services=len(plan.services),
        tables=len(plan.tables),
        images=missing,
        prepared_s=VERIFY_S * len(plan.services) + BUILD_S * missing,
        # Tables are measured before everything else.
        first_look_s=table_looks(plan.turn_rounds)[0] * plan.round_seconds(),
        max_time_s=options.max_time,
        rounds=plan.turn_rounds if plan.tables else None,
        first_look=table_looks(plan.turn_rounds)[0],
        composed=os.environ.get("BENCH_ENGINE") == "composed",
    )


def plan_of(options: argparse.Namespace) -> Planned:
    """The plan of these options, the matrix, and the effective settings."""
    matrix = load_matrix()
    check_quotas(options.vary, os.cpu_count())
    if options.p99 and not options.own_app:
        raise UserError("--p99 needs --app; without an app of your own, use --level knee:p99=50ms")
    if options.cpu_hour_price is not None and not (options.own_app and 0 < options.cpu_hour_price < 1e6):
        raise UserError("--cpu-hour-price takes a number above 0, and needs --app")
    if options.own_app:
        check_own_selection(options)
        app = read_app(options.own_app)
        options.frameworks, options.pythons = (app.name,), app.pythons
        matrix = with_own_app(matrix, app, options.p99)
    if options.again:
        check_services(options.again, options.command_line, matrix)
    settings = resolve(read_settings(os.environ, then=settings_then(options.again) if options.again else None))
    reachable = reachable_bases(matrix, settings, options.images)
    here = Variant(matrix=matrix, settings=settings, reachable=reachable)
    wanted = Selection(**{k: v for k, v in vars(options).items() if k in Selection.__dataclass_fields__})
    if refs := refs_of(options, here):
        plan = make_plan(here, wanted_of_refs(options, refs, wanted), (refs.base, refs.head))
        plan = replace(plan, refs=refs.facts(plan))
    else:
        plan = make_plan(here, wanted)
    if options.profile:
        check_profile(plan)
    if plan.preset.workers:
        settings["WORKERS"] = str(plan.preset.workers)
    return plan, matrix, settings


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


HEAD = "-head"
"""The suffix of the folder with the head's locks, beside the base's."""


def refs_of(options: argparse.Namespace, here: Variant) -> Refs | None:
    """The two refs; None if none are compared. If a user's own app is measured, `here` has the base's."""
    if not options.sides:
        return None
    if options.target:
        raise UserError("--target does not go with two refs: leave it out")
    apps: list[Matrix] = []
    if options.own_head:
        app = replace(read_app(options.own_head), name=read_app(options.own_app).name)
        apps = [here.matrix, with_own_app(load_matrix(), app, options.p99, HEAD)]
    return read_refs(options.sides, here, os.environ, apps)


def wanted_of_refs(options: argparse.Namespace, refs: Refs, wanted: Selection) -> Selection:
    """The selection for two refs; if it names no services, those that show the difference, within a few minutes."""
    if wanted.preset or wanted.stacks or wanted.servers or (wanted.frameworks and not options.own_app):
        return wanted
    options.max_time = options.max_time or 60 * MINUTES
    if options.own_app:
        return replace(wanted, servers=(refs.default_server(read_app(options.own_app).interface),))
    return refs.default_selection(wanted)


def save_refs(options: argparse.Namespace, folder: Path) -> None:
    """Save in the run what is needed to check the refs out again, and the locks of the head's app."""
    if options.sides:
        shutil.copy(options.sides / REFS, folder)
    if options.own_head:
        shutil.copytree(options.own_head / "locks", folder / f"{LOCKS}{HEAD}")
