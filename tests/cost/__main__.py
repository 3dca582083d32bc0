"""`python3 -m tests.cost run|page|builds|load|own|quick|long|network ...`: verbs for scripts/harness-cost.sh."""

import sys

from bench.core.errors import UserError
from tests.cost.costs import build_cost, harness_cost, load_share, own_app_cost, page_cost, quick_cost
from tests.cost.long_run import long_run
from tests.cost.network_cost import network_cost

try:
    verbs = {"run": harness_cost, "page": page_cost, "builds": build_cost, "load": load_share, "own": own_app_cost}
    verbs |= {"quick": quick_cost, "long": long_run, "network": network_cost}
    sys.exit(verbs[sys.argv[1]](sys.argv[2:]))
except UserError as error:
    print(f"harness-cost: {error}", file=sys.stderr)
    sys.exit(2)
