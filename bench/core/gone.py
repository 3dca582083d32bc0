"""Words of earlier versions, and the line that says what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

GONE: Mapping[str, str] = MappingProxyType(
    {
        "--loadgens": "--loadgens is gone: give the load generator more CPUs (LOADGEN_CPUS in .env), "
        "or measure several pairs of nodes at once with --swarm",
        "--mode duet": "--mode duet is gone: two services of a selection (--stack A,B) are compared in turns",
        "--mode both": "--mode both is gone: two services of a selection (--stack A,B) are compared in turns",
        "--preset selftest-hog": "--preset selftest-hog is gone: use scripts/selftest.sh tables --hog",
        "--tool hold": "--tool hold is gone: --event connections measures the memory of idle connections",
        "not-comparable": "--fail-on not-comparable is gone: use scripts/compare-runs.sh --check RUN OTHER",
        "pr-comment.sh of two runs": "two runs get no verdict: use scripts/compare-runs.sh RUN OTHER, or measure both "
        "in one run (docs/ci.md)",
        "selftest.sh judge alone": "judge alone is gone: use scripts/selftest.sh turns",
        "selftest.sh judge hog": "judge hog is gone: use scripts/selftest.sh tables --hog",
        "selftest.sh judge quick": "judge quick is gone: use scripts/selftest.sh tables --hog",
        "selftest.sh judge waits": "judge waits is gone: compare p50 with CPU per request in reports of --mode solo",
        "tables of a preset": "tables is gone: there is one form of table for services measured alone; remove the line",
    }
)
