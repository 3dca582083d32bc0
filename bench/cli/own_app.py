"""Verbs for a user's own app and for servers that already run: their descriptions and their expected responses."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.cli.arguments import check_own_selection, parse_selection
from bench.contract.client import Answer, Client, NoAnswer, Request
from bench.contract.verify import Outcome, Result, failure_text
from bench.core.arguments import Parser, words_of
from bench.core.errors import UserError
from bench.core.files import read_bytes, write_file
from bench.core.formats import printable
from bench.matrix.load import load_matrix
from bench.matrix.model import python_label
from bench.own_app.answers import (
    TRIES,
    Right,
    Unusable,
    as_json,
    difference,
    from_json,
    right_of,
    unexpected,
    without_origin,
)
from bench.own_app.app import COMPOSE, FILE, FOLDER, OwnApp, read_app, write_app
from bench.own_app.compose_file import PREFIX, left_out, own_services
from bench.own_app.describe import Given, describe
from bench.own_app.metadata import left_unread, other_python
from bench.own_app.requirements import Workspace, requirements_of, source_notes
from bench.own_app.targets import Target, headers_of
from bench.own_app.trace import hint_of, trace_of
from bench.plan.measurement import Measurement
from bench.plan.running import check_running
from bench.run.facts import read_run_facts
from bench.run.folder import find_run
from bench.run.reader import RUNNING_ANSWERS, read_run
from bench.schedule.build_log import build_cause, build_error, with_advice
from bench.schedule.finished import last_words

ANSWERS = "answers.json"
FOLDER_WHEELS = "app-wheels"
"""The target that builds the packages of an app's folder."""
ANSWER_TIMEOUT_S = 15.0


def own_app_verb(argv: Sequence[str]) -> None:
    """`own-app OUT --folder DIR --app MODULE:CALLABLE ...`: check an app, describe it in OUT, and print its Pythons.

    OUT gets app.json and `requirements/`. Each printed line is a Python's label and version. `--NAME` options are names
    on the host; `--NAME-here`, `--source` and `--compose-resolved` are paths in this container. `--workspace-here` has
    the files of a uv workspace in which the app has the place `--place`. If app.json has no interface, the app is to be
    imported, and this verb to be called once more, with `--imported 'INTERFACE CLASS'`.
    """
    parser = Parser("matrix.sh")
    parser.add_argument("out", type=Path)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--interface")
    for name in ("imported", "project", "place", "before", "apt", "compose"):
        parser.add_argument(f"--{name}", default="")
    for name in ("requirements", "targets", "expect", "env-file"):
        parser.add_argument(f"--{name}", default="")
        parser.add_argument(f"--{name}-here", type=Path)
    parser.add_argument("--workspace-here", type=Path)
    parser.add_argument("--compose-resolved", type=Path)
    parser.add_argument("--python", action="append", default=[])
    options = parser.parse_args(argv)
    services = _services(options) if options.compose_resolved else {}
    workspace = Workspace(options.workspace_here, options.place) if options.workspace_here else None
    name = Path(options.requirements).name
    required = requirements_of(options.source, options.requirements_here, name, workspace)
    alike = ("folder", "app", "source", "interface", "imported", "env_file", "before", "apt")
    given = Given(
        **{name: getattr(options, name) for name in alike},
        targets=options.targets_here,
        targets_name=Path(options.targets).name,
        expect=options.expect_here,
        variables=options.env_file_here,
        services=tuple(name.removeprefix(PREFIX) for name in services.get("services", ())),
        pythons=tuple(name for words in options.python for name in words.split(",") if name),
        installed=bool(required.projects),
    )
    matrix = load_matrix()
    app, by = describe(given, matrix)
    app = replace(app, options=tuple(_given(options)), project=options.project)
    (options.out / "requirements").mkdir(exist_ok=True)
    for name, text in required.files().items():
        write_file(options.out / "requirements" / name, text)
    if services:
        write_file(options.out / COMPOSE, json.dumps(services, indent=1, ensure_ascii=False) + "\n")
    write_app(options.out, app)
    notes = [*required.notes, *left_unread(options.source)]
    if not options.requirements:
        notes = [*source_notes(required), *notes]
    if not options.python:
        notes += other_python(options.source, app.pythons, matrix.pythons)
    for line in () if given.imported else notes:
        print(printable(line), file=sys.stderr)
    if by:
        print(f"{app.app} speaks {app.interface} ({by})", file=sys.stderr)
    for python in app.pythons:
        print(python_label(python), python)


def _given(options: argparse.Namespace) -> Iterator[str]:
    """The options about the app, as words of the command line."""
    yield from ("--app", options.folder, options.app)
    for name in ("interface", "requirements", "targets", "expect", "env-file", "before", "apt", "compose"):
        if value := getattr(options, name.replace("-", "_")):
            yield from (f"--{name}", value)


def _services(options: argparse.Namespace) -> dict[str, Any]:
    """The user's services as the run starts them; prints which keys are ignored."""
    resolved = json.loads(options.compose_resolved.read_text())
    services = own_services(resolved)
    if (names := left_out(resolved)) and not options.imported:
        ports = " (the network is internal)" if any(name.endswith(".ports") for name in names) else ""
        print(f"--compose: ignored: {', '.join(names)}{ports}", file=sys.stderr)
    return services


def own_answers_verb(argv: Sequence[str]) -> int:
    """`own-answers record|check RUN SERVICE`: record the app's responses on a service, or compare them on another.

    Exit status: 0 done; 1 a response differs (`check`: see the service's failure.json) or cannot serve as a reference
    (`record`: see the printed line).
    """
    what, name, service = words_of(argv, "own-answers record|check RUN SERVICE")
    run = find_run(name)
    app = read_app(run / FOLDER)
    client = Client(read_run_facts(run).service(service).url or f"http://{service}:8080", ANSWER_TIMEOUT_S)
    return _record(run, app, client, service) if what == "record" else _check(run, app, client, service)


def own_trace_verb(argv: Sequence[str]) -> None:
    """`own-trace APP LOG [HINT]`: print the last traceback in a log of the app that APP describes, then a line: its
    exception, or else the last line, with what to do about it: HINT if it does not say that itself.
    """
    folder, log, otherwise = words_of([*argv, ""] if len(argv) == 2 else argv, "own-trace APP LOG [HINT]")
    text = (read_bytes(log) or b"").decode(errors="replace")
    app = read_app(Path(folder))
    lines, exception = trace_of(text)
    words = exception or last_words(Path(log)) or "its log is empty"
    print(*lines, with_advice(words, text, app.apt, hint_of(exception, app.app) or otherwise), sep="\n")


def own_build_cause_verb(argv: Sequence[str]) -> None:
    """`own-build-cause OUT TARGET`: print why a build of the app that OUT describes failed, with what to give; nothing
    if its log names no cause. TARGET is that of services/debian.Dockerfile.
    """
    out, target = words_of(argv, "own-build-cause OUT TARGET")
    log = (read_bytes(f"{out}/app-build.log") or b"").decode(errors="replace")
    error = build_error(log)
    words = with_advice(error, log, read_app(Path(out)).apt, of_folder=target == FOLDER_WHEELS)
    if words != error or build_cause(log):
        print(words)


def _record(run: Path, app: OwnApp, client: Client, service: str) -> int:
    rights = []
    try:
        for target, expect in app.expected:
            answers = _answers(client, target)
            rights.append(right_of(target.title, answers, expect.get("status")))
            if words := next(filter(None, (unexpected(expect, answer) for answer in answers)), ""):
                raise Unusable(f"{target.title}: {words}")
            print(f"{target.title}: {rights[-1].words()}")
    except NoAnswer as error:
        print(f"{target.title}: {error}")
        return 1
    except Unusable as error:
        print("; ".join(filter(None, (str(error), error.hint))))
        return 1
    write_file(run / FOLDER / ANSWERS, as_json(rights, service))
    return 0


def _check(run: Path, app: OwnApp, client: Client, service: str) -> int:
    rights, first = from_json((run / FOLDER / ANSWERS).read_text())
    asked = zip(app.expected, rights, strict=True)
    outcomes = tuple(_outcome(target, right, expect, client, first) for (target, expect), right in asked)
    print(*(outcome.line() for outcome in outcomes), sep="\n")
    result = Result(outcomes)
    folder = run / "raw/services" / service
    for failed in result.failures[:1]:
        detail = f"{failed.route}: {failed.expected}; here {failed.got}"
        write_file(folder / "failure.json", failure_text(detail, final=result.wrong))
    write_file(folder / "verify.json", result.as_json(service, app.interface))
    return 1 if result.failures else 0


def _outcome(target: Target, right: Right, expect: Mapping[str, Any], client: Client, first: str) -> Outcome:
    check, expected, got = "Answers as the app did when its answers were recorded", f"{first} gives {right.words()}", ""
    seconds, answered = 0.0, True
    try:
        answer = _ask(client, target)
        got, seconds = difference(right, answer), answer.seconds
        if not got and (got := unexpected(expect, answer)):
            expected = "--expect"
    except NoAnswer as error:
        got, answered = str(error), False
    wanted = expected if got else None
    return Outcome(target.title, check, not got, wanted, got or None, round(seconds, 3), answered=answered)


def _ask(client: Client, target: Target) -> Answer:
    request = Request(target.path, target.method, target.body, headers_of(target))
    return without_origin(client.ask(request), client.base_url)


def _answers(client: Client, target: Target) -> list[Answer]:
    """Several responses to one request, to record what they have in common."""
    return [_ask(client, target) for _ in range(TRIES)]


def own_selection_verb(argv: Sequence[str]) -> None:
    """`own-selection SELECTION`: UserError for what does not go with or beside an own app."""
    options = parse_selection(argv)
    check_own_selection(options)
    check_running(options.running, alone=False)


def target_answers_verb(argv: Sequence[str]) -> int:
    """`target-answers RUN NAME`: record the responses of a server that already runs; if already recorded, compare them.

    UserError if its responses cannot be recorded. If a resumed run gets different responses, the server is not loaded:
    exit status 1, and its failure.json says why.
    """
    given, name = words_of(argv, "target-answers RUN NAME")
    run = find_run(given)
    if not (planned := [one for one in read_run(str(run)).planned if one.service == name and one.url]):
        raise UserError(f"{run.name} has no server {name} that already runs")
    client = Client(str(planned[0].url), ANSWER_TIMEOUT_S)
    asked = _asked(run, planned)
    folder = run / "raw/services" / name
    if not (folder / RUNNING_ANSWERS).exists():
        rights = _first_answers(client, f"--target {planned[0].url}", asked)
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / RUNNING_ANSWERS, as_json(rights, name))
        print(*(f"{right.target}: {right.words()}" for right in rights), sep="\n")
        return 0
    outcome, detail = _changed((folder / RUNNING_ANSWERS).read_text(), client, asked)
    if not outcome:
        (folder / "failure.json").unlink(missing_ok=True)
        return 0
    write_file(folder / "failure.json", failure_text(detail, outcome=outcome))
    print(f"{name}: {outcome}: {detail}")
    return 1


def _asked(run: Path, planned: Sequence[Measurement]) -> dict[str, tuple[Target, Mapping[str, Any]]]:
    """The requests to it in this run, by title, each with what --expect says of the response."""
    if (run / FOLDER / FILE).exists():
        app = read_app(run / FOLDER)
        sent = {target for one in planned for target in app.targets_of(one.scenario)}
        return {target.title: (target, expect) for target, expect in app.expected if target in sent}
    lines = ((line.scenario, line.exchange) for line in planned)
    asked = [Target(name, one.method, one.path, body=one.body.encode() if one.body else None) for name, one in lines]
    return {one.title: (one, {}) for one in asked}


def _first_answers(client: Client, who: str, asked: Mapping[str, tuple[Target, Mapping[str, Any]]]) -> list[Right]:
    rights = []
    for title, (target, expect) in asked.items():
        try:
            rights.append(right_of(title, _answers(client, target), expect.get("status")))
        except NoAnswer as error:
            raise UserError(f"{who} does not answer: {title}: {error}") from None
        except Unusable as error:
            raise UserError(f"{who} cannot be measured: {error}") from None
    return rights


def _changed(recorded: str, client: Client, asked: Mapping[str, tuple[Target, Mapping[str, Any]]]) -> tuple[str, str]:
    """(outcome, detail) of the first response that differs from the recorded one; both empty if none does."""
    rights, _ = from_json(recorded)
    for right in rights:
        try:
            words = difference(right, _ask(client, asked[right.target][0]))
        except NoAnswer as error:
            return "does not answer", f"{right.target}: {error}"
        if words:
            return "failed verification", f"{right.target}: at first {right.words()}; now {words}"
    return "", ""
