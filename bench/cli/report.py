"""`build`: write a run's report."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench.analysis.cells.latency import merged_latencies
from bench.analysis.profiles.sampled import profiles_of
from bench.core.errors import UserError, one_line
from bench.core.files import write_file
from bench.export.judged_run import judge_run
from bench.render.page.document import html
from bench.render.page.flames import flames_of
from bench.render.page.windows import WindowDetails, window_details_of
from bench.render.report import markdown, report_content
from bench.run.folder import find_run


def build_verb(argv: Sequence[str]) -> int:
    """`build RUN`: write records.jsonl, report.md and index.html; UserError where RUN is not a results folder.

    What would help where something stayed undecided goes to standard error, unless `--quiet`.
    """
    names = [word for word in argv if word != "--quiet"]
    if len(names) != 1:
        raise UserError("usage: python3 -m bench build [--quiet] RUN")
    folder = find_run(names[0])
    windows: list[WindowDetails] = []
    try:
        source, services, records, rankings = judge_run(folder, lambda raw: windows.append(window_details_of(raw)))
        latencies = merged_latencies(source.path, [record for record in records if record.mode == "solo"])
        profiles = [profiles_of(source, services, told.ranking) for told in rankings]
        words = report_content(source, services, records, rankings, latencies, profiles=profiles)
        write_file(folder / "report.md", markdown(words))
        made = html(
            source,
            services,
            records,
            windows=windows,
            latencies=latencies,
            words=words,
            rankings=rankings,
            flames=flames_of(one for own in profiles for one in own),
        )
        write_file(folder / "index.html", made)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}; free some space or fix its owner") from error
    for line in words["advice"] if "--quiet" not in argv else ():
        print(f"What would help: {one_line(line)}", file=sys.stderr)
    return 0
