"""Verbs for a user's own app: describe it, record its right answers or check a service's, show its traceback."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.contract.client import Client, NoAnswer, Request
from bench.contract.verify import Outcome, Result, failure_text
from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.drive.finished import last_words
from bench.matrix.load import load_matrix
from bench.matrix.service import python_label
from bench.own_app.answers import TRIES, Right, Unusable, as_json, difference, from_json, right_of, unexpected
from bench.own_app.app import COMPOSE, FOLDER, OwnApp, read_app, write_app
from bench.own_app.compose_file import PREFIX, left_out, own_services
from bench.own_app.describe import Given, describe
from bench.own_app.load_files import headers_of
from bench.own_app.requirements import requirements_of
from bench.own_app.targets import Target
from bench.own_app.trace import trace_of
from bench.run.folder import find_run

ANSWERS = "answers.json"
ANSWER_TIMEOUT_S = 15.0


def own_app_verb(argv: Sequence[str]) -> int:
    """`own-app OUT --folder DIR --app MODULE:CALLABLE ...`: check an app, describe it in OUT; print its Pythons.

    OUT gets app.json and `requirements/`. Each line printed is a Python's label and its version. The paths of what is
    read are those in this container, the names those on the host.
    """
    parser = Parser("matrix.sh")
    parser.add_argument("out", type=Path)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--app", required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--interface")
    for name in ("requirements", "targets", "expect", "env-file"):
        parser.add_argument(f"--{name}", default="")
        parser.add_argument(f"--{name}-here", type=Path)
    parser.add_argument("--before", default="")
    parser.add_argument("--compose", default="")
    parser.add_argument("--compose-resolved", type=Path)
    parser.add_argument("--compose-links", default="")
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
    app = replace(app, options=tuple(_given(options)))
    name, text = requirements_of(options.source, options.requirements_here, Path(options.requirements).name)
    (options.out / "requirements").mkdir(exist_ok=True)
    write_file(options.out / "requirements" / name, text)
    if services:
        write_file(options.out / COMPOSE, json.dumps(services, indent=1, ensure_ascii=False) + "\n")
    write_app(options.out, app)
    if by:
        print(f"{app.app} speaks {app.interface} ({by})", file=sys.stderr)
    for python in app.pythons:
        print(python_label(python), python)
    return 0


def _given(options: argparse.Namespace) -> Iterator[str]:
    """The options for the app as words of the command line."""
    yield from ("--app", options.folder, options.app)
    for name in ("interface", "requirements", "targets", "expect", "env-file", "before", "compose"):
        if value := getattr(options, name.replace("-", "_")):
            yield from (f"--{name}", value)


def _services(options: argparse.Namespace) -> dict[str, Any]:
    """The user's services as the run starts them; what is left out is said."""
    resolved = json.loads(options.compose_resolved.read_text())
    services = own_services(resolved, str(Path(options.compose).parent), options.compose_links.splitlines())
    if names := left_out(resolved):
        print(f"--compose: not taken over: {', '.join(names)}", file=sys.stderr)
    return services


def own_answers_verb(argv: Sequence[str]) -> int:
    """`own-answers record|check RUN SERVICE`: record the right answers of the app on a service, or compare its answers.

    Exit status: 0 done; 1 an answer is otherwise (`check`: failure.json of the service says which), or cannot be a
    yardstick (`record`: the line printed says why).
    """
    if len(argv) != 3 or argv[0] not in ("record", "check"):
        raise UserError("usage: python3 -m bench own-answers record|check RUN SERVICE")
    run, service = find_run(argv[1]), argv[2]
    app = read_app(run / FOLDER)
    entry = mapping(mapping((as_object(read_bytes(str(run / "run.json")) or b"") or {}).get("services")).get(service))
    client = Client(str(entry.get("url") or f"http://{service}:8080"), ANSWER_TIMEOUT_S)
    return _record(run, app, client, service) if argv[0] == "record" else _check(run, app, client, service)


def own_trace_verb(argv: Sequence[str]) -> int:
    """`own-trace LOG`: print the last traceback in it, and in the last line its exception; else its last line."""
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench own-trace LOG")
    text = (read_bytes(argv[0]) or b"").decode(errors="replace")
    lines, words = trace_of(text)
    print("\n".join([*lines, words]) if lines else last_words(Path(argv[0])))
    return 0


def _record(run: Path, app: OwnApp, client: Client, service: str) -> int:
    rights = []
    try:
        for target, expect in _expected(app):
            answers = [client.ask(_request(target)) for _ in range(TRIES)]
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
    outcomes = [
        _outcome(target, right, dict(expect), client, first)
        for (target, expect), right in zip(_expected(app), rights, strict=True)
    ]
    result = Result(tuple(outcomes), {})
    folder = run / "raw/services" / service
    for outcome in outcomes:
        print(outcome.line())
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
    ok = not got
    shown = (None, None) if ok else (expected, got)
    return Outcome(target.title, check, ok, shown[0], shown[1], round(seconds, 3), answered=answered)


def _expected(app: OwnApp) -> list[tuple[Target, dict[str, object]]]:
    expect = app.expect or ({},) * len(app.targets)
    return [(target, dict(one)) for target, one in zip(app.targets, expect, strict=True)]


def _request(target: Target) -> Request:
    return Request(target.path, target.method, target.body, headers_of(target))
