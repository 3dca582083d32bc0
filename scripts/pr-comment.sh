#!/usr/bin/env bash
#
# Usage: scripts/pr-comment.sh RUN [--fail-on POLICY]...
#        scripts/pr-comment.sh BASE_RUN HEAD_RUN [--fail-on POLICY]...
#        scripts/pr-comment.sh --check [--fail-on POLICY]...
#
# Prints a comparison as Markdown, short enough for a comment on GitHub. Of one run: the verdicts of its
# tables in turns, whose first service (--stack OLD,NEW) is the old version; every other one is compared with
# it. Two runs have no verdicts: their figures are printed side by side if the runs are comparable
# (scripts/compare-runs.sh --check).
#
#   --fail-on POLICY  exit status 1 if the policy is broken; may be given more than once:
#       slower:5%         a verdict is slower, by over 5 % more CPU or fewer requests/s (slower alone: any)
#       invalid           base or proposed version has no figure; of two runs: a cell has no valid round
#       not-enough-data   a comparison has no verdict
#       not-comparable    two runs that are not comparable
#       lost              under an event (docs/events.md) the proposed version loses more requests than the base, by
#                         the tests of its rounds; in a run of a single service: it loses any
#
#   --check           only whether these are policies, before anything is measured
#
# What has no verdict never counts as no difference: the comment counts it separately.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which run? see --help" ;;
esac

need_tools
in_tools python3 -m bench pr-comment "$@" || exit $?
