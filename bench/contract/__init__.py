"""The contract suite: one set of checks for every app, run before any load.

`verify` runs the checks of one service, `results` reads what they gave for a whole run. A new route is two lines:
its path in `routes`, its answer in `answers`. A new check is one function in `checks`, listed in `checks.CHECKS`.
"""
