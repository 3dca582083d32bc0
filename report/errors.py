"""The one exception that ends a command with a line instead of a trace."""

from __future__ import annotations


class UserError(Exception):
    """A fault that the user can mend; its text is one line that says how. Exit status 2."""
