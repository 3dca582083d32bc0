"""Verbs of `python3 -m bench`: arguments in, printing and exit status out. No other package imports this one."""
