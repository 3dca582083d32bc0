#!/usr/bin/env bash
#
# Usage: scripts/compare.sh REF_A REF_B [SELECTION...]
#        scripts/compare.sh REF_A REF_B --app FOLDER MODULE:CALLABLE [SELECTION...]
#
# Measures two refs of this repository in one run, taking turns: each selected service as it is at REF_A (the base) and
# at REF_B. A service's files and the settings of .env that it reads come from the ref; everything else, including the
# load and the analysis, is the current version for both. A REF is a commit, branch or tag, or WORKTREE: the uncommitted
# state. Prints report.md's path; scripts/pr-comment.sh RUN prints the verdicts as a comment.
#
#   SELECTION             options of scripts/matrix.sh. Without --stack, --server, --framework and --preset: whatever
#                         differs between the refs, for at most 4 minutes. $WORKER_CLASS in --stack and --preset is
#                         replaced by each ref's value
#   --app FOLDER MODULE:CALLABLE    your own app at two refs of the repository that contains FOLDER (docs/own-app.md);
#                         on one server unless --server is given
#
# The refs are checked out below results/ and removed at the end, with their images. scripts/matrix.sh --resume RUN
# resumes an interrupted run: it checks out the same commits again. Exit status 3: the refs do not differ.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

usage_if_asked "$@"
act compare "$@"
