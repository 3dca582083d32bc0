#!/usr/bin/env bash
#
# Usage: scripts/profile.sh SERVICE PATH...
#
# Samples a built service with py-spy while wrk requests each path. Prints the CPU time of its first worker, and the
# samples of all workers by the package of the innermost frame. Saves all stacks in results/profiles/, in the collapsed
# format of flame graph tools. To compare the services of a run, use scripts/matrix.sh --profile.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

[[ ${1:-} != -h && ${1:-} != --help ]] || { usage && exit; }
(($# >= 2)) || fail 2 "which service and paths? see --help"
"$root/scripts/setup.sh"
act stacks "$@"
