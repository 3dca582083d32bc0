"""Makes the plan for a selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.core.errors import UserError, unknown
from bench.plan.cells import RATE_SECONDS, ROOM, Plan, PlannedCell, null_cells, turn_tables
from bench.plan.event import BAD_DAY, MOST_EASY, WORKERS
from bench.plan.event_cells import at_rate, easy_rate, event_cells, null_events
from bench.plan.interim_looks import LOOKS
from bench.plan.loads import Shares, load_cells
from bench.plan.running import check_running, with_running
from bench.plan.selection import Selection, narrows, override
from bench.plan.title import title_of
from bench.plan.variants import Chosen, Variant, choose, in_pairs, with_default_stacks
from driver.messages import cpu_list


def make_plan(here: Variant, wanted: Selection, refs: Sequence[Variant] = ()) -> Plan:
    """The plan for a selection; UserError if a name is unknown or nothing is left to run.

    `refs`: take the services from two refs of the project, the base first.
    """
    variants, matrix, settings = refs or (here,), here.matrix, here.settings
    wanted = with_default_stacks(here, wanted)
    narrowed = narrows(wanted)
    name = wanted.preset or (BAD_DAY if wanted.events and not matrix.own_app else "all" if narrowed else "quick")
    if name not in matrix.presets:
        raise unknown("preset", name, matrix.presets)
    alone, scenarios = wanted.only_running, bool(wanted.scenarios)
    check_running(wanted.running, alone=alone and not scenarios)
    matrix, preset = with_running(matrix, matrix.presets[name], wanted.running, alone=alone, scenarios=scenarios)
    preset = override(preset, wanted, here.matrix.presets[BAD_DAY].events if BAD_DAY in here.matrix.presets else ())
    chosen = Chosen([], [], []) if alone else choose(variants, preset, wanted)
    services, skips = [*chosen.services, *(one.service() for one in wanted.running)], chosen.skips
    if any(service.settings for service in services):
        # A published comparison has no variants of a stack.
        preset = replace(preset, published=None)
    shares: Shares = {}
    seconds, easy = wanted.duration, MOST_EASY
    if preset.events:
        easy = easy_rate(services, here.reads, preset.workers or WORKERS)
        cells = [c for one in services for c in event_cells(matrix, one, preset, here.reads, skips, seconds=seconds)]
        cells = [at_rate(cell, easy) for cell in cells]
    else:
        cells, shares = load_cells(matrix, preset, wanted, services, skips, settings=[one.settings for one in variants])
    cells = in_pairs(cells, chosen.pairs, skips)
    if not cells:
        causes = "; ".join(sorted({s.cause for s in skips})[:3]) or "no stack, scenario, tool and level can be combined"
        raise UserError(f"nothing matches the selection ({causes}); try --list with fewer filters")
    # A tool that can run another load of the preset is not skipped.
    run = {(cell.service.name, cell.scenario, cell.tool) for cell in cells}
    skips = [s for s in dict.fromkeys(skips) if (s.service, s.scenario, s.tool) not in run]
    kept = tuple(cells)
    if len(variants) > 1 or narrowed or wanted.vary or wanted.flags:
        preset = replace(preset, title=title_of(kept, [one.label for one in variants]))
    tables = tuple(turn_tables(preset, kept, settings, {name: tuple(own) for name, own in shares.items()}))
    rated = {(table.first.scenario, level) for table in tables for level in table.shares}
    kept = tuple(cell for cell in kept if (cell.scenario, cell.level) not in rated)
    if any(level.share for level in wanted.levels) and not any(table.shares for table in tables):
        raise UserError(
            "share50 needs a table in turns: select two services or more, without --mode solo or --controls none"
        )
    in_turns = {cell.key for table in tables for cell in table.cells}
    if any(cell.level.turn_s and cell.key not in in_turns for cell in kept):
        raise UserError("c16t1000 needs a table in turns: select two services or more, without --mode solo")
    nulls: tuple[PlannedCell, ...] = ()
    if wanted.controls != "none":
        # The null server's cells, for the run's events or for its loads.
        nulls = null_events(matrix, preset.events, seconds) if preset.events else null_cells(matrix, kept, tables)
        nulls = tuple(at_rate(cell, easy) for cell in nulls)
    turn_rounds = (wanted.rounds or preset.turn_rounds or LOOKS[-1]) if tables else 0
    cpus = [len(cpu_list(settings.get(name) or "0")) for name in ("SERVER_CPUS", "LOADGEN_CPUS")]
    return Plan(
        preset,
        kept,
        tuple(skips),
        loadgen_cpus=cpus[1],
        nulls=nulls,
        tables=tables,
        turn_rounds=turn_rounds,
        turn_seconds=preset.turn_seconds or float(settings.get("TURN_SECONDS", "1")),
        rate_seconds=preset.rate_seconds or RATE_SECONDS,
        pairs=tuple(pair for pair in chosen.pairs if {cell.service.name for cell in kept}.issuperset(pair)),
        room=0.0 if wanted.mode == "solo" else ROOM * min(cpus),
    )
