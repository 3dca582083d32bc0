#!/usr/bin/env bash
#
# Usage: scripts/parse.sh TOOL < FILE
#
# Converts the output of a load tool to one JSON object. TOOL is its name, such as wrk; FILE is its output, of vegeta the
# JSON report.
#
# Exit status: 0: the report is complete; 1: there is none, or it is of another tool; 3: only a part could be read. The
# object's `failure` says why.
# Needs only the load generator's image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which tool? see --help" ;;
esac

need_tools
in_tools python3 -m bench parse "$@" || exit $?
