"""An argument parser whose errors are one line."""

import argparse
from typing import NoReturn

from bench.errors import UserError


class Parser(argparse.ArgumentParser):
    """argparse that leaves printing the error, and the exit, to the caller."""

    def error(self, message: str) -> NoReturn:
        """Raise `UserError`."""
        raise UserError(f"{message}; see python3 -m bench {self.prog} --help")
