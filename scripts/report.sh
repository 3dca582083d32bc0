#!/usr/bin/env bash
#
# Usage: scripts/report.sh RUN                rebuild RUN's records.jsonl, report.md and index.html from its raw files
#        scripts/report.sh A B [C...]         compare runs with the first: what changed, and of five or more their
#                                             history; results/comparisons/ has it as Markdown, page and JSON
#                                             lines; exit status 0, or 1 where some may not be compared
#        scripts/report.sh parse TOOL < FILE  one tool's output as one JSON object
#        scripts/report.sh comparable A B     whether figures of two runs may stand side by side: a line for
#                                             each difference; exit status 0, or 1 where one forbids it
#        scripts/report.sh export FORMAT RUN > FILE
#                                             RUN's records as csv, parquet or gobench (for benchstat)
#
# RUN, A, B, C are folders under results/, by name or path; of many, the oldest first. Needs no service: only the tools'
# image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which run? see --help" ;;
esac

need_tools
if [[ $1 == parse || $1 == comparable || $1 == export ]]; then
	in_tools python3 -m bench "$@"
elif (($# > 1)); then
	in_tools python3 -m bench compare "$@"
else
	run=$(in_tools python3 -m bench find "$1")
	in_tools python3 -m bench build "results/$run"
	say "results/$run/report.md"
	say "results/$run/index.html"
fi
