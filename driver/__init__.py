"""The host's side of a run: starts, loads, inspects and removes containers with the `docker` command line.

It needs Python 3.9 or newer and the standard library. Whatever needs more is in `bench`, which runs in a container;
the two exchange files in the run's folder (driver/messages.py).
"""
