"""`python3 -m tests.cost run|page|builds ...`: for scripts/harness-cost.sh."""

import sys

from bench.core.errors import UserError
from tests.cost.build_cost import build_cost
from tests.cost.harness_cost import harness_cost
from tests.cost.page_cost import page_cost

try:
    sys.exit({"run": harness_cost, "page": page_cost, "builds": build_cost}[sys.argv[1]](sys.argv[2:]))
except UserError as error:
    print(f"harness-cost: {error}", file=sys.stderr)
    sys.exit(2)
