#!/usr/bin/env bash
#
# Usage: scripts/parse.sh TOOL < FILE
#
# Converts the output of a load tool to one JSON object. TOOL is its name, such as wrk; FILE is its output, of vegeta the
# text or JSON report. It may be pasted: with a prompt and other text around it, indentation, quote signs, colours, or a
# service's name or a time before each line. Two reports in one file are refused.
#
# A figure that the output does not show is null. The first line that is not understood is quoted; a number such as 1,234
# is not guessed.
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
