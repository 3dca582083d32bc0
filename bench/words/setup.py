"""A run's setup in words: machines, servers that already ran, packages, a user's own app."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from bench.analysis.services import pairs_of
from bench.core.formats import capital, listed, plural
from bench.matrix.packages import normalised, versions_in
from bench.plan.cpus import server_cpus
from bench.plan.running import NO_CONTAINER, OWNED
from bench.run.facts import Lanes, Machines, RunFacts, RunService
from bench.run.reader import Run, ServiceFacts
from bench.words.own_app import request_words
from bench.words.texts import SENTENCES

_STARTED = re.compile(r"(\d{4})(\d\d)(\d\d)-\d{6}")


def condition_words(facts: RunFacts) -> str:
    """What every figure holds for: `One worker on one CPU of AMD EPYC, 2 cores; Python 3.13; 2026-11-28.`."""
    ours = [service for service in facts.services.values() if not service.url]
    workers = facts.knobs.get("WORKERS", "")
    varied = any("WORKERS" in service.settings for service in ours)
    count = server_cpus(facts.knobs)
    who = "" if varied or not workers.isdecimal() or not ours else _counted(int(workers), "worker")
    where = "" if count is None or not ours else _counted(count, "CPU")
    on = " on ".join(filter(None, (who, where)))
    pythons = sorted({service.python for service in ours if service.python}, key=lambda name: (len(name), name))
    python = f"Python {listed(pythons)}" if pythons else ""
    machine = f"{on} of {machine_words(facts)}" if on else machine_words(facts)
    return capital("; ".join(filter(None, (machine, python, day_of(facts.run))))) + "."


def _counted(count: int, word: str) -> str:
    return f"one {word}" if count == 1 else plural(count, word)


def machine_words(facts: RunFacts) -> str:
    """`AMD EPYC, 2 cores`."""
    cpu = str(facts.host.get("cpu") or "CPU unknown").replace("(R)", "").replace("(TM)", "").removesuffix(" Processor")
    cores = facts.host.get("cpus")
    return f"{cpu}, {plural(cores, 'core')}" if isinstance(cores, int) else cpu


def day_of(run: str) -> str:
    """The UTC day on which a run of this name began, in ISO 8601 format; empty if unknown."""
    found = _STARTED.match(run)
    return "-".join(found.groups()) if found else ""


def machines_words(machines: Machines) -> str:
    """Which machine ran what, and how isolation differs from a single machine."""
    return SENTENCES["machines"].format(**asdict(machines))


def side_by_side(lanes: Lanes) -> Iterator[tuple[str, str]]:
    """(name, words), only for a run that used several pairs of nodes, or left some out."""
    if lanes.most > 1:
        shared = [SENTENCES["shared_nodes"].format(", ".join(lanes.shared))] if lanes.shared else []
        yield "pairs of nodes", " ".join([SENTENCES["pairs_of_nodes"], *shared])
    if lanes.left_out:
        yield "nodes left out", f"{'; '.join(lanes.left_out)}: figures of nodes of several kinds are not compared"


ALREADY_RUNNING = "already running"


def already_running(source: Run) -> Iterator[tuple[str, str]]:
    """(name, words) for each server that was already running."""
    for name, service in source.facts.services.items():
        if service.url:
            yield ALREADY_RUNNING, " ".join(_running_sentences(source, name, service))


def _running_sentences(source: Run, name: str, service: RunService) -> Iterator[str]:
    planned = [one for one in source.planned if one.service == name]
    app = source.facts.own_app
    asked = dict.fromkeys(
        request_words(app, one.scenario) if app else f"{one.exchange.method} {one.exchange.path}" for one in planned
    )
    yield f"{name} is {service.url}, loaded with {'; '.join(asked)}."
    yield f"It is {NO_CONTAINER}: it has no counters and no CPU or memory limit."
    if any(one.mode == "turns" for one in planned):
        yield "Its tables are ranked by requests/s; the load comes from the host's network."
    else:
        yield "It is measured alone, from the host's network, and has no rank."
    if service.url.startswith("https:"):
        yield "Its certificate was not verified. The null server has no TLS: with it, a tool's limit is lower."
    yield "It has to respond as the app does." if app else "Its first responses are taken as correct."
    if service.owned:
        yield f"It is not on this machine: the user states that they own it ({OWNED})."


def package_facts(facts: RunFacts, services: Mapping[str, ServiceFacts]) -> Iterator[str]:
    """A line for each wheel, then one for each service whose other dependencies differ from its base's."""
    for entry in facts.packages:
        name = f"{entry.get('package') or entry.get('name')} on {entry.get('python')}"
        made = f"left out: {entry['cause']}" if entry.get("cause") else f"wheel {str(entry.get('sha256'))[:12]}"
        yield f"{name}: {entry.get('from')}; {made}"
    for base, head in pairs_of(facts):
        had, package = (facts.service(name).package for name in (base, head))
        if package and {base, head} <= services.keys():
            compared = {normalised(name) for name, _ in (*versions_in(str(package)), *versions_in(str(had)))}
            words = _otherwise(base, services[base].packages, services[head].packages, compared)
            if words:
                days = {"": services[head].dependencies_as_of, f"{base}: ": services[base].dependencies_as_of}
                dates = "; ".join(f"{whose}as of {day}" for whose, day in days.items() if day)
                when = f" ({dates})" if dates else ""
                yield f"{head} also differs from {base} in dependencies{when}: {', '.join(words)}"


def _otherwise(
    base: str, base_packages: Mapping[str, str], head_packages: Mapping[str, str], compared: set[str]
) -> list[str]:
    """What differs, besides the packages `compared`; empty if the packages of one are unknown."""
    if not base_packages or not head_packages:
        return []
    return [
        f"{key} {head_packages.get(key, 'none')} ({base}: {base_packages.get(key, 'none')})"
        for key in sorted({*base_packages, *head_packages} - compared)
        if base_packages.get(key) != head_packages.get(key)
    ]
