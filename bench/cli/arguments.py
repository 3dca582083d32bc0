"""The options of matrix.sh."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.cli.repeat import INTERNAL, read_then
from bench.core.arguments import Parser, minutes_as_seconds, number
from bench.core.errors import UserError
from bench.matrix.bases import local_images
from bench.matrix.flags import parse_flags
from bench.matrix.knobs import parse_knob
from bench.matrix.packages import read_wheels
from bench.plan.running import OWNED, parse_running
from bench.tools.levels import Level


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _levels(text: str) -> tuple[Level, ...]:
    return tuple(map(Level.parse, _names(text)))


def parse_selection(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed options: lists as tuples, `max_time` in seconds; UserError if one is wrong."""
    parser = Parser("matrix.sh")
    parser.add_argument("--preset")
    names = ("stack", "framework", "server", "base", "package", "with", "scenario", "tool", "level", "python", "event")
    for flag in names:
        kind = _levels if flag == "level" else _names
        parser.add_argument(f"--{flag}", dest=f"{flag}s", type=kind, default=[], action="extend")
    parser.add_argument("--vary", type=parse_knob, default=[], action="append")
    parser.add_argument("--flags", type=parse_flags, default=[], action="append")
    parser.add_argument("--duration", type=number)
    parser.add_argument("--mode")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-latency", dest="latency", action="store_false")
    parser.add_argument("--controls", choices=("null", "none"), default="null")
    parser.add_argument("--max-time", type=minutes_as_seconds)
    parser.add_argument("--rounds", type=_whole)
    parser.add_argument("--seed", type=_whole)
    # Read here, because standard input can be read only once.
    parser.add_argument("--images", type=local_images)
    for name in ("own-app", "own-head", "sides", "packages-in"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--cpu-hour-price", type=number)
    parser.add_argument("--p99", type=lambda text: Level.parse(f"knee:p99={text}"))
    parser.add_argument("--target", default=[], action="append")
    parser.add_argument(OWNED, dest="owned", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--again", type=read_then)
    options = parser.parse_args(argv)
    for key, value in vars(options).items():
        if isinstance(value, list):
            setattr(options, key, tuple(value))
    if options.owned and not options.target:
        raise UserError(f"{OWNED} needs --target URL")
    if options.withs and not options.packages:
        raise UserError("--with changes packages together with that of --package: give that, too")
    options.running = tuple(parse_running(text, owned=options.owned) for text in options.target)
    options.wheels = read_wheels(options.packages_in) if options.packages_in else None
    options.command_line = [word for word in argv if word.partition("=")[0] not in INTERNAL]
    return options


def check_own_selection(options: argparse.Namespace) -> None:
    """UserError for an option that selects something else than a user's own app."""
    if options.preset or options.frameworks or options.stacks or options.packages:
        others = "--preset, --stack, --framework or --package"
        raise UserError(f"--app does not go with {others}: choose servers with --server")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)
