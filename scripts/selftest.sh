#!/usr/bin/env bash
#
# Usage: scripts/selftest.sh latency [SELECTION...]
#
# Measures what is known beforehand, and prints truth, measured and error of each figure. The run stays
# under results/, with the table in its selftest.md. Exit status 1 when a promise does not hold.
#
#   latency     an app that stalls for 1 s in every 10, and one that takes 1 ms for 98 % of its requests
#               and 50 ms for the rest: percentiles of an open loop at a fixed rate, over all rounds
#   SELECTION   as scripts/matrix.sh takes it, such as --rounds 5 (a whole number of stalls fits a
#               --duration of 10, 20, ...)
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"

case ${1:-} in
latency) kind=$1 ;;
-h | --help) usage && exit ;;
*) fail 2 "which self-test? see --help" ;;
esac
shift

find_docker || true
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$root/scripts/matrix.sh" --preset "selftest-$kind" "$@" 2> >(tee "$log" >&2) || fail $? "the run of the self-test failed"
run=$(sed -n 's|^results/\([^/]*\)$|\1|p' "$log")
status=0
in_tools python3 -m report selftest "$kind" "results/$run" | tee "$root/results/$run/selftest.md" || status=$?
say "results/$run/selftest.md"
exit "$status"
