"""The host's side of a run: starts, loads, inspects and removes containers with the `docker` command line.

It needs Python 3.9 or newer and the standard library. Whatever needs more is in `bench`, which runs in a container;
the two exchange files in the run's folder (driver/messages.py).
"""

import sys

# Before any other module is read, because an older Python cannot parse them.
if sys.version_info < (3, 9):  # noqa: UP036 - it is run by the Python that is there
    found = ".".join(map(str, sys.version_info[:3]))
    sys.stderr.write("python3 is Python " + found + ", but 3.9 or newer is needed\n")
    sys.exit(2)
