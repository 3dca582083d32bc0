"""Verbs for a user's own app and for servers that already run: their descriptions and their expected responses."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.cli.arguments import parse_selection
from bench.contract.client import Answer, Client, NoAnswer, Request
from bench.contract.verify import Outcome, Result, failure_text
from bench.core.arguments import Parser, words_of
from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.matrix.load import load_matrix
from bench.matrix.model import python_label
from bench.own_app.answers import TRIES, Right, Unusable, as_json, difference, from_json, right_of, unexpected
from bench.own_app.app import COMPOSE, FILE, FOLDER, OwnApp, read_app, write_app
from bench.own_app.compose_file import PREFIX, left_out, own_services
from bench.own_app.describe import Given, describe, requirements_of
from bench.own_app.metadata import left_unread
from bench.own_app.targets import Target, headers_of
from bench.own_app.trace import trace_of
from bench.plan.measurement import Measurement
from bench.plan.running import check_running
from bench.run.folder import find_run
from bench.run.reader import RUNNING_ANSWERS, read_run
from bench.schedule.finished import last_words

ANSWERS = "answers.json"
ANSWER_TIMEOUT_S = 15.0


def own_app_verb(argv: Sequence[str]) -> int:
    """`own-app OUT --folder DIR --app MODULE:CALLABLE ...`: check an app, describe it in OUT, and print its Pythons.

    OUT gets app.json and `requirements/`. Each printed line is a Python's label and version. `--NAME` options are names
    on the host; `--NAME-here`, `--source` and `--compose-resolved` are paths in this container.
    """
    parser = Parser("matrix.sh")
    parser.add_argument("out", type=Path)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--interface")
    parser.add_argument("--project", default="")
    for name in ("requirements", "targets", "expect", "env-file"):
        parser.add_argument(f"--{name}", default="")
        parser.add_argument(f"--{name}-here", type=Path)
    parser.add_argument("--before", default="")
    parser.add_argument("--compose", default="")
    parser.add_argument("--compose-resolved", type=Path)
    parser.add_argument("--python", action="append", default=[])
    options = parser.parse_args(argv)
    services = _services(options) if options.compose_resolved else {}
    given = Given(
        folder=options.folder,
        app=options.app,
        source=options.source,
        interface=options.interface,
        targets=options.targets_here,
        targets_name=Path(options.targets).name,
        expect=options.expect_here,
        variables=options.env_file_here,
        env_file=options.env_file,
        before=options.before,
        services=tuple(name.removeprefix(PREFIX) for name in services.get("services", ())),
        pythons=tuple(name for words in options.python for name in words.split(",") if name),
    )
    app, by = describe(given, load_matrix())
    app = replace(app, options=tuple(_given(options)), project=options.project)
    (options.out / "requirements").mkdir(exist_ok=True)
    files = requirements_of(options.source, options.requirements_here, Path(options.requirements).name)
    for name, text in files.items():
        write_file(options.out / "requirements" / name, text)
    if services:
        write_file(options.out / COMPOSE, json.dumps(services, indent=1, ensure_ascii=False) + "\n")
    write_app(options.out, app)
    for line in left_unread(options.source, options.requirements_here):
        print(line, file=sys.stderr)
    if by:
        print(f"{app.app} speaks {app.interface} ({by})", file=sys.stderr)
    for python in app.pythons:
        print(python_label(python), python)
    return 0


def _given(options: argparse.Namespace) -> Iterator[str]:
    """The options about the app, as words of the command line."""
    yield from ("--app", options.folder, options.app)
    for name in ("interface", "requirements", "targets", "expect", "env-file", "before", "compose"):
        if value := getattr(options, name.replace("-", "_")):
            yield from (f"--{name}", value)


def _services(options: argparse.Namespace) -> dict[str, Any]:
    """The user's services as the run starts them; prints which keys are ignored."""
    resolved = json.loads(options.compose_resolved.read_text())
    services = own_services(resolved)
    if names := left_out(resolved):
        print(f"--compose: ignored: {', '.join(names)}", file=sys.stderr)
    return services


def own_answers_verb(argv: Sequence[str]) -> int:
    """`own-answers record|check RUN SERVICE`: record the app's responses on a service, or compare them on another.

    Exit status: 0 done; 1 a response differs (`check`: see the service's failure.json) or cannot serve as a reference
    (`record`: see the printed line).
    """
    what, name, service = words_of(argv, "own-answers record|check RUN SERVICE")
    run = find_run(name)
    app = read_app(run / FOLDER)
    entry = mapping(mapping((as_object(read_bytes(str(run / "run.json")) or b"") or {}).get("services")).get(service))
    client = Client(str(entry.get("url") or f"http://{service}:8080"), ANSWER_TIMEOUT_S)
    return _record(run, app, client, service) if what == "record" else _check(run, app, client, service)


def own_trace_verb(argv: Sequence[str]) -> int:
    """`own-trace LOG`: print the last traceback in the log, its exception on the last line, or else the last line."""
    (log,) = words_of(argv, "own-trace LOG")
    lines, words = trace_of((read_bytes(log) or b"").decode(errors="replace"))
    print("\n".join([*lines, words]) if lines else last_words(Path(log)))
    return 0


def _record(run: Path, app: OwnApp, client: Client, service: str) -> int:
    rights = []
    try:
        for target, expect in _expected(app):
            answers = _answers(client, target)
            rights.append(right_of(target.title, answers))
            if words := next(filter(None, (unexpected(expect, answer) for answer in answers)), ""):
                raise Unusable(f"{target.title}: {words}")
            print(f"{target.title}: {rights[-1].words()}")
    except (NoAnswer, Unusable) as error:
        print(f"{target.title}: {error}" if isinstance(error, NoAnswer) else error)
        return 1
    write_file(run / FOLDER / ANSWERS, as_json(rights, service))
    return 0


def _check(run: Path, app: OwnApp, client: Client, service: str) -> int:
    rights, first = from_json((run / FOLDER / ANSWERS).read_text())
    asked = zip(_expected(app), rights, strict=True)
    outcomes = tuple(_outcome(target, right, expect, client, first) for (target, expect), right in asked)
    print(*(outcome.line() for outcome in outcomes), sep="\n")
    result = Result(outcomes)
    folder = run / "raw/services" / service
    for failed in result.failures[:1]:
        detail = f"{failed.route}: {failed.expected}; here {failed.got}"
        write_file(folder / "failure.json", failure_text(detail, final=result.wrong))
    write_file(folder / "verify.json", result.as_json(service, app.interface))
    return 1 if result.failures else 0


def _outcome(target: Target, right: Right, expect: dict[str, object], client: Client, first: str) -> Outcome:
    check, expected, got = "Answers as the app did when its answers were recorded", f"{first} gives {right.words()}", ""
    seconds, answered = 0.0, True
    try:
        answer = client.ask(_request(target))
        got, seconds = difference(right, answer), answer.seconds
        if not got and (got := unexpected(expect, answer)):
            expected = "--expect"
    except NoAnswer as error:
        got, answered = str(error), False
    wanted = expected if got else None
    return Outcome(target.title, check, not got, wanted, got or None, round(seconds, 3), answered=answered)


def _expected(app: OwnApp) -> list[tuple[Target, dict[str, object]]]:
    expect = app.expect or ({},) * len(app.targets)
    return [(target, dict(one)) for target, one in zip(app.targets, expect, strict=True)]


def _request(target: Target) -> Request:
    return Request(target.path, target.method, target.body, headers_of(target))


def _answers(client: Client, target: Target) -> list[Answer]:
    """Several responses to one request, to record what they have in common."""
    return [client.ask(_request(target)) for _ in range(TRIES)]


def target_check_verb(argv: Sequence[str]) -> int:
    """`target-check SELECTION`: UserError if a server of --target cannot be measured beside a user's own app."""
    check_running(parse_selection(argv).running, alone=False)
    return 0


def target_answers_verb(argv: Sequence[str]) -> int:
    """`target-answers RUN NAME`: record the responses of a server that already runs; if already recorded, compare them.

    UserError if its responses cannot be recorded. If a resumed run gets different responses, the server is not loaded:
    exit status 1, and its failure.json says why.
    """
    given, name = words_of(argv, "target-answers RUN NAME")
    run = find_run(given)
    planned = [one for one in read_run(str(run)).planned if one.service == name and one.url]
    if not planned:
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


def _asked(run: Path, planned: Sequence[Measurement]) -> dict[str, Target]:
    """The requests to it in this run, by title."""
    if (run / FOLDER / FILE).exists():
        app = read_app(run / FOLDER)
        asked = [target for one in planned for target in app.targets_of(one.scenario)]
    else:
        asked = [
            Target(one.scenario, one.method, one.path, body=None if one.body is None else one.body.encode())
            for one in planned
        ]
    return {one.title: one for one in asked}


def _first_answers(client: Client, who: str, asked: Mapping[str, Target]) -> list[Right]:
    rights = []
    for title, target in asked.items():
        try:
            rights.append(right_of(title, _answers(client, target)))
        except NoAnswer as error:
            raise UserError(f"{who} does not answer: {title}: {error}") from None
        except Unusable as error:
            raise UserError(f"{who} cannot be measured: {error}") from None
    return rights


def _changed(recorded: str, client: Client, asked: Mapping[str, Target]) -> tuple[str, str]:
    """(outcome, detail) of the first response that differs from the recorded one; both empty if none does."""
    rights, _ = from_json(recorded)
    for right in rights:
        try:
            words = difference(right, client.ask(_request(asked[right.target])))
        except NoAnswer as error:
            return "does not answer", f"{right.target}: {error}"
        if words:
            return "failed verification", f"{right.target}: at first {right.words()}; now {words}"
    return "", ""
