#!/usr/bin/env bash
#
# Usage: scripts/pr-comment.sh RUN [--fail-on POLICY]...
#        scripts/pr-comment.sh BASE_RUN HEAD_RUN [--fail-on POLICY]...
#
# Prints a comparison as Markdown, short enough for a comment on GitHub. Of one run: the verdicts of
# its pairs, whose first service is what was and whose second is what is proposed. Two runs have
# no verdicts: their figures stand side by side, if scripts/report.sh comparable allows it.
#
#   --fail-on POLICY  exit status 1 where it is broken; may be given more than once:
#       slower:5%         a verdict says slower, by more than that (slower alone: by anything)
#       invalid           a pair is invalid; of two runs: a cell has no valid round
#       not-enough-data   a pair has no verdict
#       not-comparable    two runs whose figures may not stand side by side
#
# A pair without a verdict never passes for one without a difference: the comment counts them apart.
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which run? see --help" ;;
esac

need_tools
in_tools python3 -m bench pr-comment "$@"
