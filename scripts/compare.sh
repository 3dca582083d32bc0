#!/usr/bin/env bash
#
# Usage: scripts/compare.sh REF_A REF_B [SELECTION...]
#        scripts/compare.sh REF_A REF_B --app FOLDER MODULE:CALLABLE [SELECTION...]
#
# Measures two refs of this repository in one run, in turns: each service of a selection as it is at REF_A, the base,
# and as it is at REF_B. Its files, and those settings of .env that it reads, are those of the ref; everything else, the
# load and how it is judged too, is the current one for both. REF is a commit, branch or tag, or WORKTREE: what is not
# committed. Prints report.md's path; scripts/pr-comment.sh RUN gives the verdicts as a comment.
#
#   SELECTION             options of scripts/matrix.sh; without --stack, --server, --framework and --preset what the
#                         refs differ in, for at most 4 minutes. In --stack and --preset, $WORKER_CLASS is each side's.
#   --app FOLDER MODULE:CALLABLE    an app of one's own, at two refs of the repository that FOLDER is in
#                         (docs/own-app.md); without --server on one server
#
# The refs are checked out below results/, and removed at the end with their images. scripts/matrix.sh --resume RUN goes
# on with a run that was cut: it checks the same commits out again.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

[[ ${1:-} != -h && ${1:-} != --help ]] || { usage && exit; }
act compare "$@"
