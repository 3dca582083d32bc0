"""The search for the knee: on simulated servers with a known knee, and on folders."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from captured import Patch, refused
from make_run import entry, output_of, sent_on_time

from bench.core.formats import plain
from bench.exchange.kind import Response
from bench.load import knee
from bench.load.failures import Failed
from bench.load.knee import at_knee, first_trial, next_trial, search_knee
from bench.load.knee_search import (
    LOWEST,
    MOST_TRIALS,
    START,
    SearchStep,
    first_rate,
    next_search_step,
    trial_seconds,
    trial_workers,
)
from bench.load.task import Task, task_of
from bench.plan.measurement import planned_of
from bench.records.knee import CLIENT, REQUESTS, Trial, trial_of
from bench.tools import parse
from bench.tools.send_lag import Attack, lag_facts, most_in_flight, quantile, read_lag
from bench.tools.vegeta import Vegeta

LIMIT_S = 0.05
LEVEL = "knee-p99-50ms"
APART = 1.05

Server = Callable[[int, int, random.Random], Trial]


def search(
    server: Server, limit_s: float = LIMIT_S, seed: int = 1, first: int | None = None, ceiling: float | None = None
) -> tuple[SearchStep, list[Trial]]:
    """The whole search, as the load generator does it."""
    rng, trials = random.Random(seed), list[Trial]()
    while not (step := next_search_step(trials, limit_s, first, ceiling)).done:
        assert step.rate * step.seconds >= REQUESTS
        trials.append(server(step.rate, step.seconds, rng))
        assert len(trials) <= MOST_TRIALS
    return step, trials


def queue(capacity: float, *, poisson: bool = False, stall: float = 0.0) -> Server:
    """A server with a queue and `capacity` responses/s; service times and arrivals are even, or random if `poisson`.

    `stall`: the share of trials in which the machine stalls for 0.3 s.
    """

    def attack(rate: int, seconds: int, rng: random.Random) -> Trial:
        free = arrival = 0.0
        stop = rng.uniform(0, seconds) if rng.random() < stall else math.inf
        took = []
        for number in range(rate * seconds):
            arrival = arrival + rng.expovariate(rate) if poisson else number / rate
            begin = max(arrival, free)
            if begin >= stop:
                begin, stop = begin + 0.3, math.inf
            free = begin + (rng.expovariate(capacity) if poisson else 1 / capacity)
            took.append(free - arrival)
        return Trial(rate, 1.0, 0.0, quantile(sorted(took), 0.99))

    return attack


@pytest.mark.parametrize("capacity", [90, 130, 480, 510, 1000, 3333, 9000, 31_000])
def test_the_knee_of_a_queue_is_its_capacity(capacity: float) -> None:
    step, trials = search(queue(capacity))
    assert step.reason is None
    # The highest rate that holds is at most the capacity, or so little above it that a trial cannot show it.
    assert capacity / APART <= step.rate <= 1.02 * capacity and len(trials) < 25


@pytest.mark.parametrize("warmed", [0.7, 1.0, 1.8])
@pytest.mark.parametrize("capacity", [130, 1000, 9000])
def test_a_search_that_begins_near_the_knee_is_short(capacity: float, warmed: float) -> None:
    step, trials = search(queue(capacity), first=first_rate(warmed * capacity))
    assert step.reason is None and capacity / APART <= step.rate <= 1.02 * capacity
    seconds = sum(trial_seconds(trial.rate, LIMIT_S) for trial in trials)
    assert len(trials) <= 12 and seconds <= 12 * max(2, 1.5 * REQUESTS / capacity)


def test_without_a_warm_up_nothing_is_known() -> None:
    assert (first_rate(None), first_rate(1e6), first_rate(3), first_rate(1000)) == (None, 600_000, LOWEST, 600)


@pytest.mark.parametrize("limit_s", [0.002, 0.05, 0.5, 2.0])
def test_a_trial_is_long_enough_for_its_limit(limit_s: float) -> None:
    capacity = max(400, 4 / limit_s)
    step, _ = search(queue(capacity), limit_s)
    assert step.reason is None and capacity / APART <= step.rate <= APART * capacity


@pytest.mark.parametrize("seed", range(4))
def test_the_knee_of_a_random_queue_is_where_its_p99_says(seed: int) -> None:
    # M/M/1: the p99 of the time in the system is ln(100) / (capacity - rate).
    capacity, limit_s = 2000, 0.02
    truth = capacity - math.log(100) / limit_s
    step, _ = search(queue(capacity, poisson=True), limit_s, seed)
    # From a few thousand correlated requests, p99 itself is only known within some percent.
    assert step.reason is None and step.rate == pytest.approx(truth, rel=0.08)


def test_noise_seldom_moves_the_knee() -> None:
    found = [search(queue(1500, stall=0.1), seed=seed)[0] for seed in range(20)]
    assert sum(step.reason is None and 1500 / APART <= step.rate <= 1.02 * 1500 for step in found) >= 17


def faulty(holds_to: float, **fault: Any) -> Server:
    good = {"sent_ratio": 1.0, "error_ratio": 0.0, "p99_s": 0.001}
    return lambda rate, *_: Trial(rate, **(good if rate <= holds_to else good | fault))


@pytest.mark.parametrize("ratio, found", [(0.001, False), (0.0011, True)])
def test_errors_end_what_holds(ratio: float, found: bool) -> None:
    step, _ = search(faulty(1234, error_ratio=ratio))
    assert (step.rate <= 1234) == found


CLIENTS = {
    "98.0% of the rate sent": {"sent_ratio": 0.98},
    "all 64 workers": {"client": ("all 64 workers",)},
    "p99 60 ms from when requests were due, 1 ms as sent": {"due_p99_s": 0.06},
}


@pytest.mark.parametrize("words", CLIENTS)
def test_where_the_load_generator_ends_there_is_no_knee(words: str) -> None:
    fault: dict[str, Any] = CLIENTS[words]
    step, _ = search(faulty(1234, **fault))
    assert step.rate <= 1234
    assert step.reason == f"client-limited at {step.rate}/s: the server's knee is higher (the load generator: {words})"
    both, _ = search(faulty(1234, **fault, p99_s=1.0))
    assert both.reason is None


def test_a_server_that_never_holds_has_no_knee() -> None:
    step, trials = search(faulty(0, p99_s=0.2))
    assert step.rate == LOWEST and min(trial.rate for trial in trials) == LOWEST
    assert step.reason is not None and "p99 200 ms" in step.reason


def test_where_the_client_has_no_more_cpu_time_it_ends_the_search() -> None:
    step, trials = search(faulty(10**9), ceiling=7700.0)
    assert [trial.rate for trial in trials] == [500, 1000, 2000, 4000, 7700]
    own = "(above 7700/s the load generator's own p99, measured on the null server, is too near the limit)"
    words = f"client-limited at 7700/s: the server's knee is higher {own}"
    assert (step.rate, step.ended_by, step.reason) == (7700, CLIENT, words)
    # The rate in the warm-up, with a cheaper client, is beyond this client's limit.
    step, trials = search(faulty(10**9), first=first_rate(24_000), ceiling=7700.0)
    assert [trial.rate for trial in trials] == [7700] and step.ended_by == CLIENT
    # If the server's knee is lower, the search ends there.
    step, _ = search(queue(3333), ceiling=7700.0)
    assert (step.reason, step.ended_by) == (None, None) and 3333 / APART <= step.rate <= 1.02 * 3333
    # A knee near the client's limit may be the client's.
    step, _ = search(queue(7000), ceiling=7700.0)
    words = f"client-limited at {step.rate}/s: the server's knee may be higher {own}"
    assert (step.reason, step.ended_by) == (words, CLIENT)


def test_a_trial_shows_that_the_client_can_send_more_and_none_asks_for_more_than_that() -> None:
    def client(rate: int, *_: object) -> Trial:
        # 13 % of a core for 1,000/s at 1,000/s, and 6 % at high rates.
        busy = 0.07 + 0.06 * rate / 1000
        return Trial(rate, min(1.0, 1 / busy), 0.0, 0.001 if busy < 1 else 0.3, busy=min(busy, 1.0))

    step, trials = search(client)
    assert step.ended_by == CLIENT and 13_000 / APART <= step.rate <= 13_000
    assert max(trial.rate for trial in trials) < 16_000


def test_trials_without_figures_do_not_hold() -> None:
    step, _ = search(lambda rate, *_: Trial(rate, None, None, None))
    assert step.reason is not None and "too few requests for a p99" in step.reason


def test_a_load_generator_that_hardly_sends_ends_no_search() -> None:
    step, _ = search(lambda rate, *_: Trial(rate, 1, 0, 0.001) if rate <= 1234 else Trial(rate, 0.03, 0, None))
    assert step.reason is not None and "client-limited at 1189/s: the server's knee is higher" in step.reason
    assert step.ended_by == CLIENT


def test_a_busy_load_generator_ends_a_search_whatever_p99_it_saw() -> None:
    def bound(rate: int, *_: object, busy: float = 0.9) -> Trial:
        return Trial(rate, 1, 0, 0.001, busy=0.5) if rate <= 1234 else Trial(rate, 1, 0, 0.2, busy=busy)

    step, _ = search(bound)
    assert (step.ended_by, round(step.rate, -2)) == (CLIENT, 1200) and "CPUs were 90% busy" in str(step.reason)
    step, _ = search(partial(bound, busy=0.8))
    assert (step.ended_by, step.reason) == (None, None)


@pytest.mark.parametrize("rate, limit_s", [(84, 0.05), (500, 0.005), (8000, 0.05), (8000, 2.0)])
def test_what_holds_never_needs_all_the_workers_of_a_trial(rate: int, limit_s: float) -> None:
    seconds = trial_seconds(rate, limit_s)
    # All responses at the limit, and one stall hidden in the last percent.
    number = rate * seconds
    stall = range(number // 2, number // 2 + number // 101)
    took = [round(1e9 * (limit_s + ((stall.stop - n) / rate if n in stall else 0))) for n in range(number)]
    attack = Attack(array("q", (round(n * 1e9 / rate) for n in range(number))), array("q", took))
    assert quantile(sorted(took), 0.99) <= 1e9 * limit_s
    assert most_in_flight(attack) < trial_workers(rate, seconds, limit_s)


def test_one_failure_is_tried_again_and_two_count() -> None:
    good, bad = Trial(START, 1, 0, 0.01), Trial(START, 1, 0, 0.06)
    assert next_search_step([], LIMIT_S).rate == START
    assert next_search_step([bad], LIMIT_S).rate == START
    assert next_search_step([bad, good], LIMIT_S).rate == 2 * START
    assert next_search_step([bad, bad], LIMIT_S).rate == START // 2
    assert not list(good.server_faults(LIMIT_S)) and list(bad.server_faults(LIMIT_S)) == ["p99 60 ms"]


def test_beside_other_programs_it_takes_twice_as_many() -> None:
    bad = Trial(START, 1, 0, 0.06)
    noisy = replace(bad, noise=True)
    for tries in ([noisy] * 3, [bad, noisy]):
        assert next_search_step(tries, LIMIT_S).rate == START
        assert next_search_step([*tries, noisy], LIMIT_S).rate == START // 2
    # A rate that holds in spite of noise holds.
    assert next_search_step([noisy, replace(noisy, p99_s=0.01)], LIMIT_S).rate == 2 * START


def test_a_busy_minute_at_the_beginning_is_not_the_knee() -> None:
    good, seen = queue(1500), list[int]()

    def server(rate: int, seconds: int, rng: random.Random) -> Trial:
        seen.append(rate)
        return Trial(rate, 1, 0, 0.2) if len(seen) <= 3 else good(rate, seconds, rng)

    step, _ = search(server)
    assert step.reason is None and 1500 / APART <= step.rate <= 1.02 * 1500
    assert seen[:4] == [500, 500, 250, 250]


def test_a_search_that_goes_in_circles_ends() -> None:
    rng = random.Random(2)
    step, trials = search(lambda rate, *_: Trial(rate, 1, 0, rng.choice([0.01, 0.06])))
    assert step.done and len(trials) <= MOST_TRIALS


@pytest.mark.parametrize(
    "rate, limit_s, seconds", [(500, 0.05, 10), (10_000, 0.05, 2), (10_000, 1, 25), (84, 0.05, 60), (10, 0.05, 60)]
)
def test_the_length_of_a_trial(rate: int, limit_s: float, seconds: int) -> None:
    assert trial_seconds(rate, limit_s) == seconds


def vegeta_output(rate: int, seconds: int, *, p99_ms: float = 9, bad: int = 0) -> dict[str, str]:
    line = entry(tool="vegeta", level=f"r{rate}", duration_s=float(seconds))
    tail = round(p99_ms * 1e6)
    return {"output.json": output_of(line, rate, bad), **sent_on_time(rate * seconds, rate, tail)}


def test_a_trial_is_read_from_its_report_and_lag() -> None:
    files = vegeta_output(1000, 5, p99_ms=70, bad=10)
    lag = read_lag(json.loads(files["lag.json"]))
    report = parse("vegeta", files["output.json"].encode())
    trial = trial_of(1000, report, lag)
    assert trial.rate == 1000 and trial.sent_ratio == pytest.approx(1, rel=1e-3)
    assert trial.error_ratio == pytest.approx(0.002) and trial.p99_s == 0.07 and not trial.client
    assert trial.faults(LIMIT_S) == ["p99 70 ms", "0.20% errors"]
    few = trial_of(1000, parse("vegeta", vegeta_output(1000, 4)["output.json"].encode()), lag)
    assert few.p99_s is None and few.faults(LIMIT_S) == ["too few requests for a p99"]
    assert trial_of(1000, None, lag).faults(LIMIT_S) == ["too few requests for a p99"]
    ports = trial_of(1000, report, lag, b"cannot assign requested address")
    assert "too many open files, or no port left" in ports.client


@pytest.mark.parametrize("late_ms, found", [(30, False), (60, True)])
def test_lag_matters_to_the_knee_where_it_takes_p99_over_the_limit(late_ms: int, found: bool) -> None:
    sent = array("q", (10**6 * n + (late_ms * 10**6 if n % 20 == 1 else 0) for n in range(5000)))
    late = Attack(sent, array("q", [10**6] * 5000))
    lag = read_lag(lag_facts(late, 1000, 10_000))
    assert lag is not None and list(lag.faults())
    trial = trial_of(1000, parse("vegeta", vegeta_output(1000, 5)["output.json"].encode()), lag)
    assert not list(trial.server_faults(LIMIT_S))
    fault = "p99 61 ms from when requests were due, 1 ms as sent"
    assert list(trial.client_faults(LIMIT_S)) == [fault] * found


def cell(folder: Path, number: int = 1, service: str = "svc", level: str = LEVEL) -> Path:
    path = folder / f"raw/r{number:02}/step-of-{service}/json/vegeta-{level}/w1/{service}"
    path.mkdir(parents=True, exist_ok=True)
    return path


def task(folder: Path, duration_s: float = 5, timeout_s: float = 2, share: float | None = None) -> Task:
    line = entry(tool="vegeta", level=LEVEL, timeout_s=timeout_s, path="/json", duration_s=duration_s, dir="x")
    return replace(task_of(str(folder), planned_of(line | {"knee_share": share})), folder=folder)


def step_of(folder: Path, *options: float) -> str:
    """The next step as text: `try RATE SECONDS WORKERS DEADLINE`, or `done RATE SECONDS`."""
    trial = next_trial(task(folder, *options))
    if trial is None:
        found = at_knee(task(folder, *options)).load
        return f"done {found.rate} {found.duration_s}"
    values = (trial.load.rate, trial.load.duration_s, trial.load.most_workers, trial.deadline_s)
    return " ".join(("try", *map(plain, values)))


def drive(folder: Path, capacity: int) -> str:
    """Run the search against a server that answers in time up to its capacity; returns its result."""
    for number in range(1, MOST_TRIALS):
        step = step_of(folder)
        verdict, rate, seconds, *_ = step.split()
        if verdict == "done":
            return step
        trial = folder / f"trials/{number:02}-{rate}-{seconds}"
        trial.mkdir(parents=True)
        for name, text in vegeta_output(int(rate), int(seconds), p99_ms=9 if int(rate) <= capacity else 80).items():
            (trial / name).write_text(text)
    raise AssertionError("no end")


def test_the_search_goes_from_trial_to_trial(tmp_path: Path) -> None:
    folder = cell(tmp_path)
    _, rate, seconds = drive(folder, 1700).split()
    assert 1700 / APART <= int(rate) <= 1700 and seconds == "5"
    facts = json.loads((folder / "knee.json").read_text())
    assert facts["rate"] == int(rate) and facts["reason"] is None and facts["found_in"] is None
    assert [trial["rate"] for trial in facts["trials"]][:4] == [500, 1000, 2000, 2000]
    assert facts["trials"][2]["faults"] == ["p99 80 ms"]
    found = at_knee(task(folder))
    assert (found.load.rate, found.load.duration_s, found.deadline_s) == (int(rate), 5, 21)


def test_a_trial_has_the_grace_of_the_load(tmp_path: Path) -> None:
    assert step_of(cell(tmp_path)) == "try 500 10 264 26"
    assert step_of(cell(tmp_path), 5, 0.5) == "try 500 10 264 21.5"


def test_a_later_round_takes_what_an_earlier_one_found(tmp_path: Path) -> None:
    found = drive(cell(tmp_path), 1700)
    later = cell(tmp_path, 2)
    assert step_of(later) == found
    assert json.loads((later / "knee.json").read_text())["found_in"] == "r01"
    assert step_of(cell(tmp_path, 2, "another")).startswith("try 500 ")
    # Not from a round that only confirms, and not from a later round.
    (cell(tmp_path) / "knee.json").rename(cell(tmp_path, 4) / "knee.json")
    assert step_of(cell(tmp_path, 3)).startswith("try 500 ")


def test_a_round_that_found_none_is_no_help(tmp_path: Path) -> None:
    (cell(tmp_path) / "knee.json").write_text(json.dumps({"rate": 84, "seconds": 60, "reason": "it does not hold"}))
    assert step_of(cell(tmp_path, 2)).startswith("try 500 ")


def test_a_share_is_of_the_slowest_service(tmp_path: Path) -> None:
    drive(cell(tmp_path, 1, "fast"), 3000)
    slow = int(drive(cell(tmp_path, 1, "slow"), 700).split()[1])
    _, rate, seconds = step_of(cell(tmp_path, 1, "fast", "knee70-p99-50ms"), 2, 2, 0.7).split()
    assert int(rate) == math.floor(0.7 * slow) and int(rate) * int(seconds) >= REQUESTS
    failed = refused(Failed, step_of, cell(tmp_path / "other", 1, "fast", "knee70-p99-50ms"), 2, 2, 0.7)
    assert failed.status == 12 and "none of json was found" in str(failed)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rate": "500", "seconds": 5}', '{"rate": 500}'])
def test_a_load_at_a_knee_needs_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "knee.json").write_text(text)
    assert "no rate was found for " in str(refused(Failed, at_knee, task(tmp_path)))


def test_the_first_trial_is_known_before_anything_is_tried(tmp_path: Path) -> None:
    trial = first_trial(task(tmp_path, 5, 2, 0.7))
    assert (trial.load.rate, trial.load.duration_s, trial.folder) == (500, 10, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_trial_waits_for_the_ports_that_the_one_before_it_took(tmp_path: Path, monkeypatch: Patch) -> None:
    folder, slept = cell(tmp_path), list[float]()
    ports = iter([9000] * 4)

    def run_tool(trial: Task, _command: object, began: Callable[[], None]) -> int:
        began()
        rate, seconds = int(trial.load.rate or 0), int(trial.load.duration_s or 0)
        for name, text in vegeta_output(rate, seconds, p99_ms=9 if rate <= 700 else 80).items():
            (trial.folder / f".{name}.tmp").write_text(text)
        return 0

    monkeypatch.setattr(knee, "run_tool", run_tool)
    monkeypatch.setattr(Vegeta, "save", lambda *_: True)
    monkeypatch.setattr(knee, "ask", lambda _: Response("200", "0.001", ""))
    monkeypatch.setattr(knee, "ports_waiting", lambda: next(ports, 12))
    monkeypatch.setattr(knee.time, "sleep", slept.append)
    search_knee(task(folder))
    assert len([*folder.glob("trials/*/output.json")]) == 9
    hosts = [json.loads(file.read_text()) for file in folder.glob("trials/*/host.json")]
    assert hosts == [{"noise": False, "busy": None}] * 9
    # A pause after each of nine trials, and four more until ports are free.
    assert slept == [0.5] * 13
