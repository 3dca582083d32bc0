#!/usr/bin/env bash
#
# Usage: scripts/selftest.sh latency|tables|truths|turns|events [--hog] [SELECTION...]
#        scripts/selftest.sh judge tables|truths|turns|events|widths RUN...
#
# Measures apps whose figures are known beforehand, and prints the true value, the measured value and the error of
# each figure. The run stays under results/, with the table in its selftest.md. Exit status 1 if an error is larger
# than allowed.
#
#   latency     percentiles at a fixed rate (open loop), over all rounds, of apps that stall for 1 s in every 10 s, take
#               50 ms for 2 % of their requests, or wait for exactly 0.2, 1 and 10 ms; the knee of an app that can
#               answer 900 requests/s; and whether loads are called late in which the load generator is paused
#   tables      a table of eight services that take turns, three of them identical to another one, the others slower by
#               3 to 15 %: how many differences are detected, and how many tables have a false verdict. With
#               --scenario ws-busy-301,sse-busy-301: of messages on WebSockets, and of server-sent events
#   truths      tables whose answers are known: the most that each service can serve; which one serves more, whatever
#               its CPU per request; which are equal (responses in bursts or one by one; a coin per container decides
#               whether a request costs 5 % more CPU); which one idles; and that the matrix's start of Cheroot costs
#               it no speed
#   turns       every server in turns of usual length, and in the same containers in turns so long that it is as good as
#               alone: how many of their differences the long turns show within the intervals of the short ones
#   events      whether a run shows what three servers are known to do (scripts/matrix.sh --event; twelve minutes). One
#               loses 7 requests at a reload and is back after 1.5 s, drops requests in flight at SIGTERM, tells all but 3
#               of 64 WebSockets or streams that they end, and ends 1.5 s later, stalls for 3 s beside 20 silent
#               connections and closes them after 15 s, and leaves two files open at each reload. One leaks 100 bytes per
#               request and gives one of four workers 70 % of its connections. One has a pool of 3 places, and an
#               upstream that is stopped for 5 s
#   judge       judges several runs together, such as those of other seeds; `judge widths` prints how wide the intervals
#               of any runs are
#   --hog       beside another process that keeps the server's CPU busy for 40 % of the time, in bursts of half a
#               second to five seconds
#   SELECTION   as for scripts/matrix.sh, such as --rounds 5 (--duration must be a multiple of 10, so that
#               it has a whole number of stalls)
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
latency | tables | truths | turns) kind=$1 presets=("selftest-$1") ;;
events) kind=events presets=(selftest-events selftest-growth selftest-needs) ;;
hog | quick | waits) fail 2 "the self-test $1 is gone: use scripts/selftest.sh tables --hog or truths --hog" ;;
judge)
	need_tools
	in_tools python3 -m calibration "${@:2}" || exit $?
	exit
	;;
-h | --help) usage && exit ;;
*) fail 2 "which self-test? see --help" ;;
esac
shift

beside=()
if [[ ${1:-} == --hog ]]; then
	shift
	python3 "$root/calibration/busy.py" &
	beside+=($!)
fi
# stall_client: pauses the load generator for a moment in loads of 501 requests/s (STALLED in calibration/latency.py).
stall_client() {
	local id ids
	while sleep 2; do
		pgrep --full -- 'vegeta-attack -rate 501 ' >/dev/null || continue
		ids=$("$docker" ps --quiet --filter name=-loadgen-)
		for id in $ids; do
			"$docker" top "$id" | grep --quiet -- '-rate 501 ' || continue
			"$docker" pause "$id" && sleep 0.1
			"$docker" unpause "$id"
		done
	done &>/dev/null
}
if [[ $kind == latency ]]; then
	find_docker
	stall_client &
	beside+=($!)
fi
[[ ! ${beside[*]} ]] || trap 'kill "${beside[@]}"' EXIT
status=0
# The self-test of events does not need the null server's losses.
[[ $kind != events ]] || set -- --controls none "$@"
runs=()
for preset in "${presets[@]}"; do
	report=$("$root/scripts/matrix.sh" --preset "$preset" "$@") || status=$?
	((status == 0)) || fail "$status" "the run of the self-test failed"
	runs+=("${report%/report.md}")
done
run=${runs[0]}
find_docker
table=$(in_tools python3 -m calibration "$kind" "${runs[@]}") || status=$?
((status < 2)) || exit "$status"
save "$root/$run/selftest.md" <<<"$table"
printf '%s\n' "$table"
say "$run/selftest.md"
exit "$status"
