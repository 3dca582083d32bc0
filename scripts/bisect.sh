#!/usr/bin/env bash
#
# Usage: scripts/bisect.sh GOOD BAD --package PATH [SELECTION...]
#
# Finds the commit that made a package slower: runs `git bisect` in a separate work tree of the package's
# repository, with a verdict as the test. GOOD and BAD are commits; PATH is the package's folder. GOOD and BAD are
# measured first, in one run; then each commit that git picks is measured together with GOOD. A commit is
#
#   bad     if it is slower than GOOD by at least half of the difference between GOOD and BAD
#   good    if it is faster, not measurably different, or slower by less than that half
#   skip    if there is no winner, or it does not build, install or answer correctly
#
#   SELECTION           options of scripts/matrix.sh (--stack --scenario --tool --level --python --rounds ...) that
#                       leave exactly one comparison
#   --max-time MINUTES  limit of each measurement (10)
#   --quiet             print only the commits
#
# Prints one line per commit, then git's message about the first bad one. The runs are kept under results/.
# Exit status: 0 found; 1 skipped commits leave several candidates; 2 wrong usage, or BAD is not slower than GOOD;
# 3 a commit could not be measured for another reason.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

usage_if_asked "$@"
act bisect "$@"
