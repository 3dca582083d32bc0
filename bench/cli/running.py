"""The verb for a server that already runs: it answers, and what it answers first is what it has to answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.cli.arguments import parse_selection
from bench.contract.client import Client, NoAnswer, Request
from bench.core.errors import UserError
from bench.core.files import write_file
from bench.own_app.answers import TRIES, Right, Unusable, as_json, difference, from_json, right_of
from bench.own_app.app import FILE, FOLDER, read_app
from bench.own_app.load_files import headers_of
from bench.own_app.targets import Target
from bench.plan.measurement import Measurement
from bench.plan.running import check_running
from bench.run.folder import find_run
from bench.run.reader import RUNNING_ANSWERS, read_run

TIMEOUT_S = 15.0


def target_check_verb(argv: Sequence[str]) -> int:
    """`target-check SELECTION`: UserError where a server of --target may not be measured beside one's own app."""
    check_running(parse_selection(argv).running, alone=False)
    return 0


def target_answers_verb(argv: Sequence[str]) -> int:
    """`target-answers RUN NAME`: record the right answers of a server that already runs; later, compare them.

    UserError where it gives none that could be recorded. In a run that goes on, one that does not answer as recorded is
    not loaded: exit status 1, and its failure.json says why.
    """
    if len(argv) != 2:
        raise UserError("usage: python3 -m bench target-answers RUN NAME")
    run, name = find_run(argv[0]), argv[1]
    planned = [one for one in read_run(str(run)).planned if one.service == name and one.url]
    if not planned:
        raise UserError(f"{run.name} has no server {name} that already runs")
    client = Client(str(planned[0].url), TIMEOUT_S)
    requests = requests_of(run, planned)
    folder = run / "raw/services" / name
    if not (folder / RUNNING_ANSWERS).exists():
        return _record(folder, client, f"--target {planned[0].url}", requests, name)
    failure = _changed(folder, client, requests)
    if failure is None:
        (folder / "failure.json").unlink(missing_ok=True)
        return 0
    outcome, detail = failure
    write_file(folder / "failure.json", json.dumps({"outcome": outcome, "detail": detail}, ensure_ascii=False) + "\n")
    print(f"{name}: {outcome}: {detail}")
    return 1


def requests_of(run: Path, planned: Sequence[Measurement]) -> dict[str, Request]:
    """What it is asked in this run, by the request in words."""
    if (run / FOLDER / FILE).exists():
        app = read_app(run / FOLDER)
        asked = [target for one in planned for target in app.targets_of(one.scenario)]
    else:
        asked = [
            Target(one.scenario, one.method, one.path, body=None if one.body is None else one.body.encode())
            for one in planned
        ]
    return {one.title: Request(one.path, one.method, one.body, headers_of(one)) for one in asked}


def _record(folder: Path, client: Client, who: str, requests: dict[str, Request], name: str) -> int:
    rights: list[Right] = []
    for title, request in requests.items():
        try:
            rights.append(right_of(title, [client.ask(request) for _ in range(TRIES)]))
        except NoAnswer as error:
            raise UserError(f"{who} does not answer: {title}: {error}") from None
        except Unusable as error:
            raise UserError(f"{who} cannot be measured: {error}") from None
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / RUNNING_ANSWERS, as_json(rights, name))
    for right in rights:
        print(f"{right.target}: {right.words()}")
    return 0


def _changed(folder: Path, client: Client, requests: dict[str, Request]) -> tuple[str, str] | None:
    """(outcome, detail) of the first answer that is not as recorded; None where all are."""
    rights, _ = from_json((folder / RUNNING_ANSWERS).read_text())
    for right in rights:
        try:
            words = difference(right, client.ask(requests[right.target]))
        except NoAnswer as error:
            return "does not answer", f"{right.target}: {error}"
        if words:
            return "failed verification", f"{right.target}: first {right.words()}; here {words}"
    return None
