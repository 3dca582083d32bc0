"""The contract suite: one set of checks for every app, run before any load.

`verify` runs the checks of one service, `results` reads the outcomes of a whole run. A new route needs two lines in
`answers`: its path and its expected response. A new check is one function in `checks`.
"""
