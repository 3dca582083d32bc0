#!/usr/bin/env bash
#
# Usage: scripts/selftest.sh latency|aa|power [--hog] [SELECTION...]
#        scripts/selftest.sh judge aa|power RUN...
#
# Measures what is known beforehand, and prints truth, measured and error of each figure. The run stays
# under results/, with the table in its selftest.md. Exit status 1 when a promise does not hold.
#
#   latency     an app that stalls for 1 s in every 10, and one that takes 1 ms for 98 % of its requests
#               and 50 ms for the rest: percentiles of an open loop at a fixed rate, over all rounds; and one
#               that answers 900 requests a second: its knee
#   aa          a service and its twin in 20 tables (give --seed for another 20): at most 5 % of the verdicts
#               may be a difference
#   power       slowdowns of 3, 5 and 10 % that were put there, ten times each: how many are found, after how
#               many seconds of load, and how far the estimate is off
#   judge       several runs taken together, such as those of other seeds
#   --hog       with a process beside it that keeps a CPU busy
#   SELECTION   as scripts/matrix.sh takes it, such as --rounds 5 (a whole number of stalls fits a
#               --duration of 10, 20, ...)
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"
trap_errors

case ${1:-} in
latency | aa | power) kind=$1 ;;
judge)
	need_tools
	in_tools python3 -m calibration "${@:2}"
	exit
	;;
-h | --help) usage && exit ;;
*) fail 2 "which self-test? see --help" ;;
esac
shift

find_docker || true
hog=''
trap '[[ -z $hog ]] || kill "$hog"' EXIT
if [[ ${1:-} == --hog ]]; then
	shift
	while :; do :; done &
	hog=$!
fi
report=$("$root/scripts/matrix.sh" --preset "selftest-$kind" "$@") || fail $? "the run of the self-test failed"
run=$(basename "${report%/report.md}")
status=0
in_tools python3 -m calibration "$kind" "results/$run" | tee "$root/results/$run/selftest.md" || status=$?
say "results/$run/selftest.md"
exit "$status"
