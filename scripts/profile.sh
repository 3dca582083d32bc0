#!/usr/bin/env bash
#
# Usage: scripts/profile.sh SERVICE PATH...
#
# Samples a built service with py-spy while wrk requests each path. Prints the CPU time of its first worker, and the
# samples of all of them by the package of the innermost frame; all stacks are saved in results/profiles/
# (collapsed, as flame graph tools read them). What differs between the services of a run: matrix.sh --profile.
set -Eeuo pipefail
# shellcheck source=scripts/profile/sample_stacks.sh
source "${BASH_SOURCE[0]%/*}/profile/sample_stacks.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
esac
(($# >= 2)) || fail 2 "which service and paths? see --help"
# shellcheck disable=SC2034 # both are of the libraries
service=$1 paths=("${@:2}")
"$root/scripts/setup.sh"
find_docker
trap stop_service EXIT
sample
