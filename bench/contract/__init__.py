"""The contract suite: one set of checks for every app, run before any load.

`verify` runs the checks of one service, `results` reads what they gave for a whole run. A new route is two lines of
`answers`: its path and its answer. A new check is one function of `checks`.
"""
