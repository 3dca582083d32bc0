#!/usr/bin/env bash
#
# Usage: scripts/bisect.sh GOOD BAD --package PATH [SELECTION...]
#
# Finds the commit that made a package slower: `git bisect` in the package's repository, in a work tree of
# its own, with a verdict as its test. GOOD and BAD are commits, and PATH is the package's folder. First GOOD and
# BAD are measured in one run, then each commit that git chooses beside GOOD. A commit is
#
#   bad     if it is slower than GOOD by at least half of the difference between GOOD and BAD
#   good    if no difference is shown, it is faster, or it is slower by less than that half
#   skip    if there is not enough data, or it does not build, install or answer as it should
#
#   SELECTION           --stack --scenario --tool --level --python --rounds and so on, as scripts/matrix.sh takes them;
#                       narrowed to one comparison
#   --max-time MINUTES  of each measurement (10)
#   --quiet             print the commits alone
#
# Prints a line for each commit, and the first bad one in git's own words. The runs are kept under results/.
# Exit status: 0 found; 1 skipped commits leave several that may be it; 2 usage, or BAD is not slower than GOOD;
# 3 a commit could not be measured for another reason.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

[[ ${1:-} != -h && ${1:-} != --help ]] || { usage && exit; }
act bisect "$@"
