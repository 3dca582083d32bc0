"""What runs in services: which are the same in spite of their settings, and that no knob that is read is such a one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, printed
from make_plans import MATRIX, plan
from places import ROOT

from bench.core.errors import EqualSides, UserError
from bench.matrix.compose import environment_of
from bench.matrix.flags import flag_words, parse_flags
from bench.matrix.knobs import LIMITS
from bench.matrix.model import Service
from bench.matrix.settings import allowed
from bench.matrix.start_command import START
from bench.run.process import MOST_BYTES, RUNNING, Running, running_of
from bench.run.reader import read_service
from bench.run.writer import start_command
from bench.schedule.failures import try_again
from driver.services.running import PROGRAM

SETTINGS = {"WORKERS": "1", "BACKLOG": "2048", "DB_POOL_TOTAL": "16", "PYTHON_JIT": "0"}
VALUES = {"MEMORY": "256m,512m", "CPU_QUOTA": "0.5,1", "PYTHON_JIT": "0,1"}
SERVERS = {s.server.name: s for s in reversed(MATRIX.usual)}


def running_json(service: Service, argv: Sequence[str], environment: Mapping[str, str | None] | None = None) -> str:
    """What the driver saves for a service with an init and this process."""
    given = environment_of(service, SETTINGS) if environment is None else environment
    names = dict(service.settings)
    asked = {name: given.get(name) for name in names}
    init = ["/sbin/docker-init", "--", START]
    processes = [{"argv": words, "environment": asked} for words in (init, [*argv])]
    limits = {"MEMORY": names.get("MEMORY", "512m"), "CPU_QUOTA": names.get("CPU_QUOTA", "max")}
    return json.dumps({"processes": processes, "limits": limits})


def saved(folder: Path, service: Service, text: str, **files: str) -> Path:
    """The folder of a service in a run, with its start command and what runs in it."""
    place = folder / "raw/services" / service.name
    place.mkdir(parents=True, exist_ok=True)
    image = [{"Id": f"sha256:{service.image}"}]
    own = {"command.json": json.dumps(start_command(service, SETTINGS)), "image.json": json.dumps(image)}
    for name, content in {**own, RUNNING: text, **files}.items():
        (place / name).write_text(content)
    return place


def read(folder: Path, service: Service) -> Running | None:
    text = (folder / "raw/services" / service.name / RUNNING).read_bytes()
    return running_of(text, read_service(str(folder), service.name), dict(service.settings))


def executed(service: Service, stubs: Path) -> tuple[list[str], dict[str, str]]:
    """(command line, environment) of the server's process, as a shell starts it with programs that print theirs."""
    environment = environment_of(service, SETTINGS)
    script = ROOT / "services/servers" / service.server.name / "start"
    text = script.read_text()
    if not text.startswith("#!/bin/sh"):
        return ["python3", START], environment
    program = stubs / re.findall(r"^exec (\S+)", text, re.MULTILINE)[0]
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$0" "$@" && cat /proc/self/environ\n')
    program.chmod(0o755)
    env = {**environment, "PATH": f"{stubs}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", script, *flag_words(service.settings)], env=env, capture_output=True, check=True)
    words = done.stdout.decode().split("\0")[:-1]
    first = next(n for n, word in enumerate(words) if re.match("[A-Z_]+=", word))
    found = dict(word.partition("=")[::2] for word in words[first:])
    return ["/opt/venv/bin/python3", *words[:first]], found


def knobs_of(server: str) -> Iterator[str]:
    """Every knob that a server may have: the usual ones, the variables in its files and its flags as variables."""
    yield from allowed("knobs")
    start = (ROOT / "services/servers" / server / "start").read_text()
    for text in (start, *(path.read_text() for path in (ROOT / "services/common").glob("*.py"))):
        yield from re.findall(r"""(?:\$\{?|environ\["|get\(")([A-Z][A-Z_]+)\b""", text)
    for glob in MATRIX.servers[server].reads:
        flags = ["some-other", *(flag.removeprefix("no-") for flag in re.findall(r"--([a-z][a-z-]+)", start))]
        yield from (glob.replace("*", flag.upper().replace("-", "_")) for flag in flags)
    yield from ("PYTHONHASHSEED", "MALLOC_ARENA_MAX")


@pytest.mark.parametrize("server", SERVERS)
def test_two_values_of_a_knob_that_is_read_are_two_processes(server: str, tmp_path: Path) -> None:
    """No verdict between two sides whose running processes are the same."""
    refused, tried = set[str](), set[str]()
    for knob in dict.fromkeys(knobs_of(server)):
        try:
            made = plan(f"{knob}={VALUES.get(knob, '1,3')}", stacks=(SERVERS[server].stack,), controls="none").services
        except UserError as fault:
            refused.add(knob)
            assert isinstance(fault, EqualSides) == (knob == "MAX_REQUESTS_JITTER" and "MAX_REQUESTS" in tried), fault
            continue
        tried.add(knob)
        assert [dict(s.settings) for s in made] == [{knob: value} for value in VALUES.get(knob, "1,3").split(",")]
        sides = []
        for service in made:
            saved(tmp_path, service, running_json(service, *executed(service, tmp_path)))
            sides.append(read(tmp_path, service))
        assert None not in sides and sides[0] != sides[1], knob
    assert {"WORKERS", "BACKLOG", "MEMORY", "CPU_QUOTA", "PYTHONHASHSEED"} <= tried
    assert {knob for knob in ("UVICORN_LOOP", "GRANIAN_WS", "UWSGI_LISTEN") if knob in refused | tried} <= refused


def two(stack: str, *settings: str, flags: Sequence[str] = ()) -> list[Service]:
    given = tuple(parse_flags(one) for one in flags)
    return plan(*settings, flags=given, stacks=(stack,), controls="none").services


def command_of(service: Service) -> list[str]:
    """The command line of its server's process: a script's interpreter and path come first."""
    argv = start_command(service, SETTINGS)["argv"]
    return ["/opt/venv/bin/python3", f"/opt/venv/bin/{argv[0]}", *argv[1:]] if START not in argv else argv


def sides(folder: Path, services: Sequence[Service], **changed: Any) -> list[Running | None]:
    """What runs in services if these parts of their running.json are others."""
    for service in services:
        text = json.loads(running_json(service, command_of(service))) | changed
        saved(folder, service, json.dumps(text))
    return [read(folder, service) for service in services]


def test_a_limit_that_the_engine_does_not_set_makes_no_difference(tmp_path: Path) -> None:
    made = two("uvicorn-asgi", "MEMORY=256m,512m")
    one, other = sides(tmp_path, made)
    assert None not in (one, other) and one != other
    one, other = sides(tmp_path, made, limits={"MEMORY": "max"})
    assert one is not None and one == other
    # A limit that cannot be read is not known to be the same.
    assert sides(tmp_path, made, limits={"MEMORY": None}) == sides(tmp_path, made, limits={}) == [None, None]


def test_a_jit_that_is_not_built_in_makes_no_difference(tmp_path: Path) -> None:
    made = two("aiohttp", "PYTHON_JIT=0,1")
    one, other = sides(tmp_path, made)
    assert None not in (one, other) and one != other
    for service in made:
        (tmp_path / "raw/services" / service.name / "jit.txt").write_text("available False\n")
    one, other = (read(tmp_path, service) for service in made)
    assert one is not None and one == other


def test_a_variable_makes_no_difference_if_the_process_lacks_it_or_has_its_flag(tmp_path: Path) -> None:
    made = two("waitress-wsgi", "THREADS=2,4")
    for service in made:
        saved(tmp_path, service, running_json(service, command_of(service), {}))
    assert read(tmp_path, made[0]) == read(tmp_path, made[1]) is not None
    both = two("uvicorn-asgi", "UVICORN_LIMIT_CONCURRENCY=500,600", flags=["uvicorn: --limit-concurrency 700"])
    found = sides(tmp_path, both)
    flags = [dict(service.settings)["FLAGS"] for service in both]
    assert flags == ["none", "--limit-concurrency 700"] * 2
    assert None not in found and found[0] != found[2] and found[1] == found[3]


def test_processes_are_counted(tmp_path: Path) -> None:
    (service,) = two("uvicorn-asgi", "WORKERS=2")
    text = json.loads(running_json(service, command_of(service)))
    saved(tmp_path, service, json.dumps(text))
    one = read(tmp_path, service)
    text["processes"].append({"argv": ["python3", "-c", "spawn"], "environment": None})
    saved(tmp_path, service, json.dumps(text))
    other = read(tmp_path, service)
    assert one is not None and other is not None and (one.processes, other.processes) == (2, 3)


HOSTILE: list[Any] = [
    *("", "[]", "{", "[" * 100_000, {}, {"processes": None}),
    {"processes": [None, 7, {"argv": None}, {"argv": [None, {}]}, {"argv": "uvicorn"}], "limits": []},
    # Rewritten titles: the variables in memory may be rewritten with them.
    {"processes": [{"argv": ["app"], "environment": {"WORKERS": "1"}}] * 3},
    {"processes": [{"argv": ["uvicorn"], "environment": {"WORKERS": "1"}}]},
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_service_may_have_written_shows_no_equality(content: Any, tmp_path: Path) -> None:
    for service in two("uvicorn-asgi", "WORKERS=1,2"):
        saved(tmp_path, service, content if isinstance(content, str) else json.dumps(content))
        assert read(tmp_path, service) is None
        broken = json.dumps(running_json(service, command_of(service)))
        for argv in ([], ["--x"], "uvicorn", [None]):
            saved(tmp_path, service, broken, **{"command.json": json.dumps({"argv": argv})})
            assert read(tmp_path, service) is None


def equal_sides_of(folder: Path, services: Sequence[Service], capsys: Capture) -> list[str]:
    """The lines of the verb, for a run of these services."""
    facts = {s.name: {"settings": s.settings.text} for s in services}
    (folder / "run.json").write_text(json.dumps({"schema": 1, "services": facts}))
    (folder / "plan.jsonl").write_text("")
    return printed(capsys, "equal-sides", str(folder)).splitlines()


def test_all_but_the_first_of_equal_sides_fail_before_they_are_loaded(tmp_path: Path, capsys: Capture) -> None:
    made = two("uvicorn-asgi", "MEMORY=256m,384m,512m", "WORKERS=1,2")
    sides(tmp_path, made, limits={"MEMORY": "max"})
    first, second = (service.name for service in made[:2])
    words = [
        f"{service.name}: equal sides: MEMORY={memory} changes nothing in the running process: it is that of {other}"
        for memory, services in (("384m", made[2:4]), ("512m", made[4:]))
        for service, other in zip(services, (first, second), strict=True)
    ]
    assert equal_sides_of(tmp_path, made, capsys) == words
    failures = [read_service(str(tmp_path), service.name).failure for service in made]
    assert failures[:2] == [None, None]
    assert failures[2] is not None and f"{made[2].name}: {': '.join(failures[2])}" == words[0]
    # What has failed is nothing that others could be the same as, and --resume does not try it again.
    assert try_again(tmp_path) == "" and equal_sides_of(tmp_path, made, capsys) == []


def test_services_of_other_images_and_refs_are_not_the_same(tmp_path: Path, capsys: Capture) -> None:
    made = two("uvicorn-asgi", "MEMORY=256m,512m")
    sides(tmp_path, made, limits={"MEMORY": "max"})
    (tmp_path / "raw/services" / made[1].name / "image.json").write_text('[{"Id": "sha256:other"}]')
    assert equal_sides_of(tmp_path, made, capsys) == []
    (tmp_path / "raw/services" / made[1].name / "image.json").unlink()
    assert equal_sides_of(tmp_path, made, capsys) == []
    text = running_json(made[0], command_of(made[0])).encode()
    facts = read_service(str(tmp_path), made[0].name)
    one, other = (running_of(text, facts, {"REF": ref}) for ref in ("main", "proposed"))
    assert one is not None and other is not None and one != other


def test_too_much_is_not_read(tmp_path: Path, capsys: Capture) -> None:
    made = two("uvicorn-asgi", "MEMORY=256m,512m")
    sides(tmp_path, made, limits={"MEMORY": "max"}, more="x" * MOST_BYTES)
    assert equal_sides_of(tmp_path, made, capsys) == []


def test_what_is_read_in_a_container(tmp_path: Path) -> None:
    """The program itself, on this machine: it sees a process of this test, with the variables that are asked for."""
    program = [sys.executable, "-c", "import time; time.sleep(60)", "of this test"]
    with subprocess.Popen(program, env={"THREADS": "4", "SECRET": "7"}) as process:
        try:
            words = [sys.executable, "-I", "-S", "-c", PROGRAM.read_text(), "THREADS", "BACKLOG"]
            found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        finally:
            process.kill()
    own = [one for one in found["processes"] if one["argv"] == program]
    assert own == [{"argv": program, "environment": {"THREADS": "4", "BACKLOG": None}}]
    assert not any(PROGRAM.read_text() in one["argv"] for one in found["processes"])
    assert {*found["limits"]} == {*LIMITS}
