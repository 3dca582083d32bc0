#!/usr/bin/env bash
#
# Usage: scripts/measure.sh RUN [SECONDS]
#
# The steps of a planned run, in order. scripts/matrix.sh starts it through `python3 -m driver hold RUN --
# scripts/measure.sh RUN`, which is the run's only writer and removes its containers and networks at the end.
# `python3 -m bench` plans, records and computes; `python3 -m driver` starts, loads and stops containers.
#
#   SECONDS   stop measuring when the script that the user called has run for this long; overrides the plan's limit
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

[[ ${1:-} != -h && ${1:-} != --help ]] || { usage && exit; }
[[ ${1:-} && ${BENCH_HELD:-} ]] || fail 2 "a run is measured by scripts/matrix.sh; see --help"
run=$1 seconds=${2-${MAX_TIME_S:-}}
limit=(${seconds:+--max-time "$seconds"})
cd "$root"

# Called between any two windows, so it must start fast: -S skips site-packages.
python=("${BENCH_PYTHON:-python3}" -S -m driver)

# A verb that fails has printed the reason.
driver() { "${python[@]}" "$@" || exit; }

# chosen VERB: `next` chooses a step; `measure` measures it and chooses the next one. False if there is no next step; `ended` is then
# 3 (all is measured), 4 (the time is up) or the status of a failure.
chosen() { "${python[@]}" "$1" "$run" "${limit[@]}" || { ended=$? && return 1; }; }
ended=''

say "results/$run"
# With docker-compose up bench, all containers are up already.
if [[ ${BENCH_ENGINE:-} != composed ]]; then
	say "CPUs: server $SERVER_CPUS, load generator $LOADGEN_CPUS, database $DATABASE_CPUS"
	driver build "$run"
	driver begin "$run"
fi
driver verify "$run"
if chosen next; then
	while chosen measure; do :; done
fi
case $ended in
3) driver profile "$run" "${limit[@]}" ;;
4) ;;
*) exit "$ended" ;;
esac
driver report "$run"
