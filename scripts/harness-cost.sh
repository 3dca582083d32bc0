#!/usr/bin/env bash
#
# Usage: scripts/harness-cost.sh
#
# Measures the preset quick once its images are built, and prints the cost of the harness itself: the wall time, the
# share of it that was load, and the CPU time of the scripts, the driver and Docker's client (not of Docker's daemon
# and of containers). Run it before and after a change of the harness. The machine should do nothing else meanwhile.
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

case ${1:-} in
'') ;;
-h | --help) usage && exit ;;
--network) fail 2 "--network is gone: use iperf3, as scripts/swarm.sh check does" ;;
--builds | --load | --long | --own-app | --quick) fail 2 "$1 is gone: without options, it measures the preset quick" ;;
*) fail_unknown "$1" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# measure_quick OPTION...: writes the path of the report to `report`, and seconds of wall, user and system time to `times`.
measure_quick() {
	local status=0 TIMEFORMAT='%R %U %S'
	{ time "$root/scripts/matrix.sh" --preset quick "$@" >"$work/report" 2>"$work/log"; } 2>"$work/times" || status=$?
	((status == 0)) || { cat "$work/log" >&2 && fail 1 "the preset quick failed with status $status"; }
}

say "building images"
measure_quick --max-time 0.01
say "measuring the preset quick"
measure_quick
run=$(dirname "$(<"$work/report")")
python3 -I - "$root/$run" "$work/times" <<'END'
import json, pathlib, sys

wall_s, *cpu_s = map(float, pathlib.Path(sys.argv[2]).read_text().split())
tools = [json.loads(path.read_bytes()) for path in pathlib.Path(sys.argv[1]).glob("raw/**/tool.json")]
load_s = sum(tool["turns"]["load_ns"] if "turns" in tool else tool["end_ns"] - tool["start_ns"] for tool in tools) / 1e9
print(f"wall time: {wall_s:.0f} s")
print(f"load: {load_s:.0f} s, {load_s / wall_s:.0%} of it")
print(f"CPU time of scripts, driver and Docker's client: {sum(cpu_s):.1f} s, {sum(cpu_s) / wall_s:.1%} of a core")
END
say "$run/report.md"
