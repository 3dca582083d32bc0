#!/usr/bin/env bash
#
# Usage: scripts/bench-self.sh
#
# Measures what the harness itself costs, and prints it beside the goals: the fixed cost of a
# measurement, its own CPU while a service is loaded, the time and memory of building a report from
# 10,000 raw files, a rebuild after a change of an app, setup.sh with nothing to do. Exit status 1
# when a goal is missed.
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"

case ${1:-} in
'') ;;
-h | --help) usage && exit ;;
*) fail 2 "unknown argument '$1', see --help" ;;
esac

# CPU ticks so far of the scripts and of Docker's own processes, whoever started them.
harness_ticks() {
	cat /proc/[0-9]*/stat 2>/dev/null | sed -nE 's/^[0-9]+ \((matrix\.sh|docker|dockerd|docker-compose|containerd|containerd-shim[^)]*)\) //p' |
		awk '{ ticks += $12 + $13 } END { print ticks + 0 }'
}

sample() {
	while :; do
		printf '%s000 %s\n' "${EPOCHREALTIME/./}" "$(harness_ticks)"
		sleep 0.5
	done
}

# interval NAME COMMAND...: prints NAME=BEGIN_NS,END_NS of a quiet command.
interval() {
	local name=$1 begin
	shift
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	echo "$name=$begin,$(date +%s%N)"
}

"$root/scripts/setup.sh"
find_docker
work=$(mktemp -d -p "$root/results" .self-XXXXXX)
trap 'kill "$sampler" 2>/dev/null; rm -rf "$work"' EXIT
sample >"$work/samples" &
sampler=$!
"$root/scripts/matrix.sh" --preset quick --stack gunicorn-sync-flask,uvicorn-asgi --scenario json --tool wrk,hey \
	--duration 4 --rounds 2 2>"$work/log" || { cat "$work/log" >&2 && fail 1 "the run that measures the harness failed"; }
kill "$sampler"
run=$(sed -n 's|^results/\([^/]*\)$|\1|p' "$work/log")

# The prefix of Python's base images, as scripts/setup.sh left it.
prefix=$(sed -n 's/^LOCAL_PYTHON_IMAGE=//p' "$root/services/.env" 2>/dev/null || true)
cp -r "$root/services" "$work/services"
build=("$docker" buildx build --load --tag bench/self --build-arg "PYTHON_IMAGE=${prefix:-$(knob PYTHON_IMAGE)}" --build-arg PYTHON=3.13
--build-arg STYLE=sync --build-arg FRAMEWORK=flask --build-arg SERVER=gunicorn-sync
--file "$work/services/debian.Dockerfile" "$work/services")
"${build[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2 && fail 1 "the service does not build"; }
echo "# changed $(date +%s%N)" >>"$work/services/frameworks/flask/app.py"
spans=("$(interval setup "$root/scripts/setup.sh")" "$(interval rebuild "${build[@]}")")
in_tools python3 -m report self "results/$run" "results/${work##*/}/samples" "${spans[@]}"
