"""Events on the database or the upstream: it is stopped or paused for a while, or one of its tables is locked."""

from __future__ import annotations

from typing import NamedTuple

from driver.docker import DockerError, answer, docker, in_time

READY, LOCKER = "/usr/local/bin/ready", "bench-lock"
"""The health check in a dependency's container; the name of the connection that holds the lock."""
TRIES, WAIT_S = 100, 0.05
LONGEST_LOCK_S = 60


class Verb(NamedTuple):
    """What can be done to a dependency: the state of its container or lock then, its past tense, and what undoes it."""

    state: str
    past: str
    undo: str = ""


VERBS = {
    "stop": Verb("exited", "stopped", undo="start"),
    "start": Verb("running", "started again"),
    "pause": Verb("paused", "paused", undo="unpause"),
    "unpause": Verb("running", "goes on"),
    "lock": Verb("locked", "table locked", undo="unlock"),
    "unlock": Verb("unlocked", "table unlocked"),
}
_LOCK = f"BEGIN; LOCK TABLE world IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({LONGEST_LOCK_S})"
_UNLOCK = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{LOCKER}'"
_HELD = (
    "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
    f" WHERE application_name = '{LOCKER}' AND mode = 'AccessExclusiveLock' AND granted"
)
_CONNECTIONS = (
    "SELECT host(client_addr), count(*), count(*) FILTER (WHERE state <> 'idle') FROM pg_stat_activity"
    " WHERE usename = 'bench' AND client_addr IS NOT NULL GROUP BY 1"
)


def do(verb: str, container: str, context: str) -> str:
    """Does it and waits until its effect shows; returns the new state. DockerError if it does not show in time."""
    if verb == "lock":
        docker("exec", "--detach", "--env", f"PGAPPNAME={LOCKER}", container, *_psql(_LOCK), context=context)
    elif verb == "unlock":
        _ask(_UNLOCK, container, context)
    else:
        # `docker stop` rather than kill: the database shuts down cleanly, as in a deployment.
        docker(verb, container, context=context, timeout=30)
    wanted = VERBS[verb].state
    if not in_time(lambda: _state(verb, container, context) == wanted, TRIES, WAIT_S):
        raise DockerError(f"it is not {wanted}")
    ready = ("exec", container, READY)
    if wanted == "running" and not in_time(lambda: answer(*ready, context=context) is not None, TRIES, WAIT_S):
        raise DockerError("it does not answer")
    return wanted


def connections(container: str, context: str) -> dict[str, tuple[int, int]]:
    """(connections, how many of them are in use) by client address, from the database."""
    rows = (line.split("|") for line in _ask(_CONNECTIONS, container, context).splitlines())
    return {address: (int(total), int(used)) for address, total, used in rows}


def _state(verb: str, container: str, context: str) -> str:
    if verb in ("lock", "unlock"):
        return "locked" if int(_ask(_HELD, container, context)) else "unlocked"
    return docker("inspect", "--format", "{{.State.Status}}", container, context=context).out.strip()


def _ask(query: str, container: str, context: str) -> str:
    return docker("exec", container, *_psql(query), context=context, timeout=20).out.strip()


def _psql(query: str) -> tuple[str, ...]:
    return "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", "bench", "--command", query
