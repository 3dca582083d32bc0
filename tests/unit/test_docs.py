"""The documents: links work, and every script, file and option that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT

PATTERNS = ("*.md", "docs/*.md", "results/published/README.md", "bench/**/README.md")
PAGES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
# Not the changelog, which names things that are gone.
CURRENT = [
    *(page for page in PAGES if page.name != "CHANGELOG.md"),
    *(ROOT / name for name in (".env", "action.yml")),
    *ROOT.glob("services/**/*.toml"),
    *ROOT.glob("docs/*.yml"),
    *(ROOT / ".github").rglob("*.yml"),
]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SCRIPT = re.compile(r"(?<![\w/-])(?:\./)?(scripts/[\w/-]+\.sh)\b")
FOLDERS = "bench|calibration|docs|driver|loadgen|postgres|results|services|tests|upstream"
FILE = re.compile(
    rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*\w\.(?:py|js|md|sql|toml|yml|tsv|json|css|Dockerfile))(?![\w*])"
)
FOLDER = re.compile(rf"`((?:{FOLDERS}|scripts)/(?:[\w.-]+/)*)`")
TREE = re.compile(r"^  ([a-z_]+)/ ", re.MULTILINE)
CALL = re.compile(r"scripts/([\w-]+\.sh)((?:[ \t]+[^\s|>#;`)]+|\\\n)*)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_pages_are_found() -> None:
    names = {name(page) for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/measuring.md", "results/published/README.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    links = LINK.findall(FENCE.sub("", page.read_text()))
    assert not [link for link in links if not re.match(r"[a-z]+:", link) and not _leads(page, link)]


def _leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_every_script_and_file_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    named = {*SCRIPT.findall(text), *FILE.findall(text), *FOLDER.findall(text)}
    # Capitals such as NAME are placeholders; a run's folder is not part of the project.
    named = {path for path in named if not re.search(r"[A-Z]{2}", path.removesuffix("README.md"))}
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", CURRENT, ids=name)
def test_every_option_is_one_that_its_script_knows(page: Path) -> None:
    unknown = []
    for script, words in CALL.findall(page.read_text()):
        path = ROOT / "scripts" / script
        asked = re.findall(r"(?<!\S)--[a-z-]+", words)
        # They pass options that they do not know to matrix.sh.
        known = [path, ROOT / "scripts/matrix.sh"] if script in ("selftest.sh", "compare.sh") else [path]
        text = "".join(file.read_text() for file in known if file.exists())
        unknown += [f"{script} {option}" for option in asked if not re.search(rf"{option}(?![\w-])", text)]
    assert not unknown


def test_each_row_of_the_security_page_has_a_test_that_exists() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]
    assert len(rows) >= 18
    for row in rows:
        *_, tests, end = row.split("|")
        if not re.match(r" (tested by|---) ", tests):
            names = re.findall(r"`([\w/.-]+)`", tests)
            assert names and not end, row
            assert [one for one in names if not any((ROOT / "tests").glob(f"**/{one}"))] == []


@pytest.mark.parametrize("file", [*ROOT.glob("docs/*.yml"), *ROOT.glob(".github/workflows/*.yml")], ids=name)
def test_actions_of_others_are_named_by_commit_with_their_version(file: Path) -> None:
    used = re.findall(r"uses: +(\S+)(.*)", file.read_text())
    assert used
    # A placeholder for this project, of which each release moves the tag.
    for action, comment in (one for one in used if one[0] != "OWNER/REPO@v1"):
        assert action.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert action.startswith("./") or re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


@pytest.mark.parametrize("top", ["bench", "driver"])
def test_the_tree_of_a_package_is_that_of_its_folders(top: str) -> None:
    (tree,) = re.findall(rf"^{top}/\n((?:  .+\n)+)", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    packages = {path.parent.name for path in ROOT.glob(f"{top}/*/__init__.py")}
    assert set(TREE.findall(tree)) == packages


def test_the_documents_are_short() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    table = text.partition("| to change | read first |\n")[2].partition("\n\n")[0]
    assert 1 < len(table.splitlines()) - 1 <= 40 and len(text.splitlines()) <= 120
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 70 and len(text.split()) <= 700
    words = {page.name: len(page.read_text().split()) for page in ROOT.glob("docs/*.md")}
    assert sum(words.values()) <= 25_000, words


def test_the_figures_of_the_readme_are_in_the_reports_that_it_names() -> None:
    text = (ROOT / "README.md").read_text()
    found = re.findall(r"^- \*\*.+:\*\* ((?:.+\n)+?.*)\[.+\]\((results/published/.+/report\.md)\)", text, re.MULTILINE)
    assert len(found) == 3
    for words, report in found:
        figures = re.findall(r"\d[\d,.]*(?: %| times| ms)", words) + re.findall(r"none of [\d,]+\d", words)
        assert figures and not [figure for figure in figures if figure not in (ROOT / report).read_text()], report


@pytest.mark.parametrize(("page", "run"), [("start", "shop-fastapi"), ("read-a-result", "quick")])
def test_what_a_page_quotes_of_a_run_is_in_its_report(page: str, run: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    report = (ROOT / f"results/published/{run}/report.md").read_text()
    quotes = [re.sub(r"\n?> ", " ", quote).strip() for quote in re.findall(r"(?:^> .+\n)+", text, re.MULTILINE)]
    assert quotes and not [quote for quote in quotes if quote not in report]
    rows = [_cells(line) for line in text.splitlines() if re.match(r"\| \d \| ", line)]
    theirs = [_cells(line) for line in report.splitlines() if line.startswith("| ")]
    assert len(rows) >= 4
    for row in rows:
        assert any(row[1] in other and all(_begins(cell, other) for cell in row) for other in theirs), row


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _begins(cell: str, cells: list[str]) -> bool:
    """Whether one of these cells begins with this one, such as a mean without its interval."""
    return any(other == cell or other.startswith(f"{cell} ") for other in cells)


def test_what_is_not_there_is_found() -> None:
    text = "[gone](docs/gone.md) ./scripts/gone.sh --gone, `bench/gone/gone.py`"
    assert [_leads(ROOT / "README.md", link) for link in LINK.findall(text)] == [False]
    assert not any((ROOT / path).exists() for path in [*SCRIPT.findall(text), *FILE.findall(text)])
    assert SCRIPT.findall(text) == ["scripts/gone.sh"] and FILE.findall(text)[1:] == ["bench/gone/gone.py"]
    assert CALL.findall(text) == [("gone.sh", " --gone,")]
