"""Apps and servers say which documentation they follow, and the servers of which version."""

import re

import pytest
from places import ROOT

from bench.matrix.catalogue import versions
from bench.matrix.load import load_matrix

MATRIX = load_matrix(ROOT / "services/matrix.toml")


@pytest.mark.parametrize("name", list(MATRIX.servers))
def test_a_start_names_the_locked_version_whose_documentation_it_follows(name: str) -> None:
    """Its flags are to be read against the new documentation when the lock moves."""
    text = (ROOT / "services/servers" / name / "start").read_text()
    locked = versions(MATRIX, "server", name) or versions(MATRIX, "framework", name)
    main = locked.split(", ")[0].split()[1]
    major_minor = ".".join(re.findall(r"\d+", main)[:2])
    assert re.search(rf"\b{re.escape(major_minor)}\b", text), f"{name}: {locked}"


@pytest.mark.parametrize("name", sorted({f.folder for f in MATRIX.frameworks.values()}))
def test_an_app_names_the_documentation_of_its_forms_in_a_line_each(name: str) -> None:
    folder = ROOT / "services/frameworks" / name
    texts = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    forms = [re.search(r"^Forms\b.*\n((?:\w+ {2,}.+\n)+)", text, re.MULTILINE) for text in texts]
    labels = [line.split()[0] for found in forms if found for line in found[1].splitlines()]
    assert labels == ["JSON", "templates", "database", "lifespan"]


@pytest.mark.parametrize("name", [f.folder for f in MATRIX.frameworks.values() if not f.lacks])
def test_an_app_has_one_template_and_no_markup_of_rows(name: str) -> None:
    folder = ROOT / "services/frameworks" / name
    assert len(list(folder.rglob("fortunes.*"))) == 1
    assert not [path for path in folder.rglob("*.py") if "<td" in path.read_text()]
