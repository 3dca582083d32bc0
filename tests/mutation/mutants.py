"""The twenty mutants: each breaks one decision by one replacement in a file, and names the tests that should notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` must occur in `file` exactly once; `tests`: paths for pytest, or for bats if they end in .bats."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "ten times as many errors are accepted",
        "bench/records/evidence.py",
        "MAX_ERRORS = 0.001",
        "MAX_ERRORS = 0.01",
        ("tests/unit/validity",),
    ),
    Mutant(
        "Little's law: a latency that is too short passes",
        "bench/validity/measurement_rules.py",
        "if too_long or too_short:",
        "if too_long:",
        ("tests/unit/validity",),
    ),
    Mutant(
        "a service may reach all of the load tool's ceiling",
        "bench/validity/run_rules.py",
        "record.goodput > MAX_OF_CEILING * ceiling[0]",
        "record.goodput > ceiling[0]",
        ("tests/unit/validity",),
    ),
    Mutant(
        "faster and slower are swapped",
        "bench/stats/table_verdicts.py",
        "word = FASTER if interval.sign > 0 else SLOWER",
        "word = FASTER if interval.sign < 0 else SLOWER",
        ("tests/unit/stats/test_table_verdicts.py", "tests/unit/analysis/tables/test_judged_tables.py"),
    ),
    Mutant(
        "a look spends all of the error rate",
        "bench/stats/table_family.py",
        "1 - alpha / len(looks)",
        "1 - alpha",
        ("tests/unit/stats/test_table_verdicts.py", "tests/unit/stats/test_table_error_rates.py"),
    ),
    Mutant(
        "a pull request's comment compares with the head",
        "bench/render/pr_comment.py",
        "places[base], places[head], contrasts.get((base, head))",
        "places[base], places[head], contrasts.get((head, base))",
        ("tests/unit/render/test_pr_comment.py",),
    ),
    Mutant(
        "a percentile's rank is one too high",
        "bench/tools/send_lag.py",
        "left = math.ceil(share * sum(counts.values()) - 1e-9)",
        "left = math.ceil(share * sum(counts.values()) - 1e-9) + 1",
        ("tests/unit/analysis/cells/test_latency.py", "tests/unit/tools/test_send_lag.py"),
    ),
    Mutant(
        "the rounds of a plan are not shuffled",
        "bench/plan/order.py",
        "        rng.shuffle(units)\n",
        "",
        ("tests/unit/plan",),
    ),
    Mutant(
        "a record may have a null without a reason",
        "bench/records/record.py",
        "if missing != self.nulls.keys():",
        "if self.nulls.keys() - missing:",
        ("tests/unit/records",),
    ),
    Mutant(
        "wrk's answers with an error status count as good ones",
        "bench/tools/wrk.py",
        'figures["ok"] = requests - non2xx',
        'figures["ok"] = requests',
        ("tests/unit/tools",),
    ),
    Mutant(
        "the validity rules are no part of the hash of what judges a figure",
        "bench/run/provenance.py",
        '("records", "stats", "tools", "validity")',
        '("records", "stats", "tools")',
        ("tests/unit/run",),
    ),
    Mutant(
        "the search for a knee ends while its bounds are far apart",
        "bench/load/knee_search.py",
        "apart = least > APART * best and best < middle < least",
        "apart = least > 1.5 * best and best < middle < least",
        ("tests/unit/load/test_knee_search.py",),
    ),
    Mutant(
        "an answer's status is not checked against the contract",
        "bench/contract/answers.py",
        "expect(answer.status == 200,",
        "expect(True,",
        ("tests/unit/contract",),
    ),
    Mutant(
        "an export for benchstat has measurements that are not valid",
        "bench/export/gobench.py",
        'if record.mode == "solo" and record.valid:',
        'if record.mode == "solo":',
        ("tests/unit/export",),
    ),
    Mutant(
        "the load tool's exit status is ignored",
        "bench/load/save.py",
        "        status = run_tool(task, command)\n",
        "        status = run_tool(task, command) * 0\n",
        ("tests/unit/load/test_save.py",),
    ),
    Mutant(
        "a run ends well where the next step cannot be decided",
        "driver/steps/next.py",
        'raise Failure(RUN, f"the next step',
        'return FINISHED or Failure(RUN, f"the next step',
        ("tests/unit/driver/test_next.py",),
    ),
    Mutant(
        "a ceiling that was nearly the target rate is none",
        "bench/validity/run_rules.py",
        ">= 0.99 * record.rate",
        ">= 0.985 * record.rate",
        ("tests/unit/validity/test_run_rules.py",),
    ),
    Mutant(
        "a service's container stays after its measurement",
        "driver/steps/measure.py",
        "        engine.stop(step.services)\n",
        "",
        ("tests/unit/driver/test_steps_made.py",),
    ),
    Mutant(
        "a run does not end when its time is up",
        "driver/steps/next.py",
        '["--max-time", max_time_s] if max_time_s else []',
        "[]",
        ("tests/unit/driver/test_next.py",),
    ),
    Mutant(
        "a run leaves its containers and networks",
        "driver/lifecycle/leftovers.py",
        "done = run_compose(run, *DOWN, check=False)",
        'done = run_compose(run, "ps", check=False)',
        ("tests/unit/driver/test_leftovers.py",),
    ),
)
