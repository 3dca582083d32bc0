#!/usr/bin/env bash
#
# Usage: scripts/pr-comment.sh RUN [--fail-on POLICY]...
#        scripts/pr-comment.sh --check [--fail-on POLICY]...
#
# Prints a comparison as Markdown, short enough for a GitHub comment: the verdicts of the tables in which services
# took turns. The first service (--stack OLD,NEW) is the old version, and every other one is compared with it.
#
#   --fail-on POLICY  exit status 1 if the policy is violated; may be repeated:
#       slower:5%         a verdict is slower, with over 5 % more CPU, fewer requests/s, or a higher p50, p99 or p99.9 at
#                         the common rate (slower alone: any)
#       invalid           base or proposed version has no figure
#       no-winner   a comparison has no verdict
#       lost              under an event (docs/events.md) the proposed version loses more requests than the base,
#                         according to the test over its rounds; in a run of a single service: it loses any
#
#   --check           only check that the policies are valid, before anything is measured
#
# A comparison without a verdict never counts as no difference: the comment counts it separately.
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
