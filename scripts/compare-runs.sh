#!/usr/bin/env bash
#
# Usage: scripts/compare-runs.sh RUN OTHER...
#        scripts/compare-runs.sh --check RUN OTHER
#
# Prints the figures of runs side by side as a Markdown table, and what differs from the first run. There is no verdict
# between separate runs: measure both in one (scripts/compare.sh, scripts/matrix.sh --package A --package B).
# Exit status 1 if a run is not comparable with the first one; it is then left out.
#
#   --check   print only the differences that affect a comparison of two runs, one per line; exit status 1
#             if they are not comparable
#
# RUN and OTHER are folders under results/, by name or path, or names of published runs.
# Needs only the load generator's image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
--check) verb=(comparable "${@:2}") ;;
-*) fail_unknown "$1" ;;
'') fail 2 "which runs? see --help" ;;
*) verb=(compare "$@") ;;
esac

need_tools
in_tools python3 -m bench "${verb[@]}" || exit $?
