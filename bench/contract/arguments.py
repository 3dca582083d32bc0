"""Command lines whose faults are one line."""

import argparse
from typing import NoReturn

from bench.core.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse that leaves saying the fault, and the exit, to the caller."""

    def error(self, message: str) -> NoReturn:
        """Raise it."""
        raise UserError(f"{message}; see python3 -m bench {self.prog} --help")
