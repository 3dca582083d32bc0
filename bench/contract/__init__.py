"""The contract suite: one set of checks for every framework's app.

`run` is `python3 -m bench verify`: the whole contract, before any load. `check` is `python3 -m bench check`,
and `quick_check` its function: one request, before each round. A new route is two lines in `routes`, its path
and its answer; a new check is one function in `checks`.
"""

from bench.contract.quick import check, quick_check
from bench.contract.verify import run

__all__ = ["check", "quick_check", "run"]
