"""Verbs of `python3 -m bench`: arguments in, printing and exit status out. Nobody imports this package."""
