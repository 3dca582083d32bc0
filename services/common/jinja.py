"""Jinja2, used as in its documentation ("API", Basics), for apps whose framework has no template engine."""

from collections.abc import Iterable

from jinja2 import Environment, FileSystemLoader, select_autoescape

from common import contract

# Relative to the working directory, which is the app's. Templates do not change while they are served, so the file is
# not checked on each request ("API", auto_reload).
environment = Environment(loader=FileSystemLoader("templates"), autoescape=select_autoescape(), auto_reload=False)


def fortunes_page(stored: Iterable[tuple[int, str]]) -> str:
    """All fortunes as an HTML table."""
    return environment.get_template("fortunes.html").render(fortunes=contract.all_fortunes(stored))
