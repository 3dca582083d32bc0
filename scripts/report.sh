#!/usr/bin/env bash
#
# Usage: scripts/report.sh RUN                rebuild RUN's records.jsonl, report.md and index.html from its raw files
#        scripts/report.sh parse TOOL < FILE  one tool's output as one JSON object
#        scripts/report.sh comparable A B     whether figures of two runs may stand side by side: a line for
#                                             each difference; exit status 0, or 1 where one forbids it
#
# RUN is a folder under results/, by name or path. Needs no service: only the tools' image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which run? see --help" ;;
esac

need_engine
have_harness || "$root/scripts/setup.sh"
if [[ $1 == parse || $1 == comparable ]]; then
	in_tools python3 -m report "$@"
else
	run=$(in_tools python3 -m report find "$1")
	in_tools python3 -m report build "results/$run"
	say "results/$run/report.md"
	say "results/$run/index.html"
fi
