"""Jinja2 for apps whose framework has no template engine of its own, as its documentation has it ("API", Basics)."""

from collections.abc import Iterable

from jinja2 import Environment, FileSystemLoader, select_autoescape

from common import contract

# In the working directory, which is the app's. Nothing changes a template while it is served: no look at the file for
# each request ("API", auto_reload).
environment = Environment(loader=FileSystemLoader("templates"), autoescape=select_autoescape(), auto_reload=False)


def fortunes_page(stored: Iterable[tuple[int, str]]) -> str:
    """All fortunes as an HTML table."""
    return environment.get_template("fortunes.html").render(fortunes=contract.all_fortunes(stored))
