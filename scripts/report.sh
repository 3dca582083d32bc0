#!/usr/bin/env bash
#
# Usage: scripts/report.sh RUN
#
# Rebuilds records.jsonl, report.md and index.html of a run from its raw files, and prints a summary to standard
# error. RUN is a folder under results/, by name or path, or the name of a published run (results/published/), which
# is unpacked to results/.published/RUN. Starts no service; needs only the load generator's image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which run? see --help" ;;
-*) fail_unknown "$1" ;;
# Old calls, from before these had scripts of their own; several runs meant a comparison.
comparable) exec "$root/scripts/compare-runs.sh" --check "${@:2}" ;;
parse | export) exec "$root/scripts/$1.sh" "${@:2}" ;;
esac
(($# == 1)) || exec "$root/scripts/compare-runs.sh" "$@"

need_tools
run=$(in_tools python3 -m bench find "$1")
in_tools python3 -m bench build "results/$run"
say "results/$run/report.md"
say "results/$run/index.html"
