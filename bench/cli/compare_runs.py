"""`compare` and `comparable`: the differences between runs, and whether runs are compatible."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.runs.comparison import compare_runs
from bench.analysis.runs.compatibility import compatibility_of, read_facts
from bench.analysis.runs.differences import lines
from bench.core.errors import UserError
from bench.core.files import write_file
from bench.run.folder import RESULTS, find_run
from bench.words.runs import compatibility_lines


def compatibility_verb(argv: Sequence[str]) -> int:
    """`comparable A B`: print what differs in their conditions; 0 if their figures may be compared, else 1."""
    if len(argv) != 2:
        raise UserError("--check takes two runs, such as: scripts/compare-runs.sh --check RUN OTHER")
    verdict = compatibility_of(*(read_facts(str(find_run(name))) for name in argv))
    print(*compatibility_lines(verdict), sep="\n")
    return 0 if verdict.comparable else 1


FOLDER = "comparisons"


def compare_verb(argv: Sequence[str]) -> int:
    """`compare A B [C...]`: write and print the comparison; 0 if all are compatible with the first run, else 1."""
    from bench.render.comparison import markdown, page

    if len(argv) < 2:
        raise UserError("a comparison takes two runs or more, such as: scripts/compare-runs.sh RUN OTHER")
    found = compare_runs([find_run(name) for name in argv])
    folder = RESULTS / FOLDER / found.title
    text = markdown(found)
    files = {"comparison.md": text, "index.html": page(found)}
    files["comparison.jsonl"] = "".join(lines(other.rows) for other in found.others)
    if found.trends:
        files["history.jsonl"] = "".join(f"{trend.to_json()}\n" for trend in found.trends)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_file(folder / name, data)
        if not found.trends:
            (folder / "history.jsonl").unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}; free some space or fix its owner") from error
    print(text, end="")
    return 0 if len(found.compared) == len(found.others) else 1
