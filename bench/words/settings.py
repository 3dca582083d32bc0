"""Settings that were varied, in words: `with 4 workers and 2 threads`, `How many threads`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.core.formats import joined

_COUNTED = {"WORKERS": "worker", "THREADS": "thread", "DB_POOL_TOTAL": "database connection"}
_WORDS = {
    "CPU_QUOTA": "a quota of {} CPU",
    "MEMORY": "{} of memory",
    "BACKLOG": "a backlog of {}",
    "KEEPALIVE": "{} s of keep-alive",
}
_ASKED = {"CPU_QUOTA": "Which CPU quota", "MEMORY": "How much memory", "KEEPALIVE": "How long a keep-alive"}


def setting_words(settings: Mapping[str, str]) -> str:
    """`4 workers and 2 threads`; settings of which no more is known are `NAME=VALUE`."""
    return joined([_one(name, value) for name, value in settings.items()])


def _one(name: str, value: str) -> str:
    if name in _COUNTED:
        return f"{value} {_COUNTED[name]}{'' if value == '1' else 's'}"
    if name in _WORDS:
        plural = "s" if name == "CPU_QUOTA" and value != "1" else ""
        return f"{_WORDS[name].format(value)}{plural}"
    return f"{name}={value}"


def setting_question(stack: str, given: Sequence[Mapping[str, str]]) -> str:
    """`How many threads for gunicorn-gthread-flask with 2 workers`, of services that differ in settings alone."""
    names = list(dict.fromkeys(name for settings in given for name in settings))
    varied = [name for name in names if len({settings.get(name) for settings in given}) > 1]
    same = {name: value for name, value in given[0].items() if name not in varied}
    if len(varied) != 1:
        asked = f"Which {joined(varied)}"
    elif varied[0] in _COUNTED:
        asked = f"How many {_COUNTED[varied[0]]}s"
    else:
        asked = _ASKED.get(varied[0], f"Which {varied[0]}")
    return f"{asked} for {stack}" + (f" with {setting_words(same)}" if same else "")
