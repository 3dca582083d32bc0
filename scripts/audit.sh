#!/usr/bin/env bash
#
# Usage: scripts/audit.sh [--connections N] [--wait MS] [--unit us|ms|s] < FILE
#
# Holds somebody else's benchmark table against what cannot be: Little's law of a closed loop, the wait of each response,
# percentiles out of order; and says what one run cannot show: differences that are smaller than runs vary, first rows that
# the load generator limits, errors beside requests/s. FILE is CSV, tab-separated text or a Markdown table with a row for
# each server; columns are known by their usual names (requests/s, rps, mean, avg, p50, 99 %, max, connections, errors).
#
#   --connections N   connections of the load, where no column has them
#   --wait MS         what every response waits for, in ms
#   --unit UNIT       of latencies that have none (ms)
#
# Exit status: 0: nothing contradicts itself; 1: something cannot be; 2: no such table.
# Needs only the load generator's image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

for word; do
	[[ $word != -h && $word != --help ]] || { usage && exit; }
done

need_tools
in_tools python3 -m bench audit-table "$@" || exit $?
