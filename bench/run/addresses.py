"""Where the load generator reaches the containers of a run; on two machines without a network in common, by ports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.core.errors import UserError

FILE = "addresses.tsv"


def read_addresses(run: Path) -> Mapping[str, str]:
    """`ADDRESS:PORT` by name of service; nothing where all of them are reached by their names."""
    try:
        lines = (run / FILE).read_text().splitlines()
        return dict(_pair(line) for line in lines)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise UserError(f"{run / FILE}: no lines of names and addresses: {error}") from error


def host_and_port(address: str, port: int) -> tuple[str, int]:
    """The parts of `HOST:PORT`, or of a host alone, whose port is `port`."""
    host, _, given = address.partition(":")
    return host, int(given) if given else port


def _pair(line: str) -> tuple[str, str]:
    name, address = line.split("\t")
    host_and_port(address, 0)
    return name, address
