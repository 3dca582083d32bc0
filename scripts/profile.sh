#!/usr/bin/env bash
#
# Usage: scripts/profile.sh SERVICE PATH...
#
# Samples the first worker of a built service with py-spy while wrk requests each path. Prints the worker's
# CPU time and the samples by the package of the innermost frame; all stacks are saved in results/profiles/
# (collapsed, as flame graph tools read them). Needs root, and py-spy on PATH (pip install py-spy).
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
esac
(($# >= 2)) || fail 2 "which service and paths? see --help"
service=$1 seconds=4 project=bench-profile-$$
command -v py-spy >/dev/null || fail 2 "py-spy is not here: pip install py-spy"
((EUID == 0)) || fail 2 "only root may inspect another user's process: run it as root"
"$root/scripts/setup.sh"
find_docker

# own ARGUMENT...: Compose on containers of this call alone.
own() { compose --project-name "$project" --profile '*' "$@"; }

in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }

# cpu_time PID: the time in ns, and what /proc says of the process.
cpu_time() { printf '%s000 %s\n' "${EPOCHREALTIME/./}" "$(<"/proc/$1/stat")"; }

profiles=$root/results/profiles
mkdir -p "$profiles"
log=$profiles/$service.log
trap 'own down --timeout 0 --volumes >/dev/null 2>&1' EXIT
own up --detach --no-build loadgen postgres upstream "$service" >"$log" 2>&1 ||
	fail 1 "$service does not start: build it with scripts/verify.sh $service, or see $log"
# From Docker's init by way of the server to its (first) worker, which is there once the first response is.
in_loadgen curl -sf --retry 50 --retry-all-errors --retry-delay 1 --output /dev/null "http://$service:8080$2" ||
	fail 1 "$service does not answer $2 with success"
pid=$("$docker" inspect --format '{{.State.Pid}}' "$project-$service-1")
while child=$(pgrep --oldest --parent "$pid"); do pid=$child; done

for path in "${@:2}"; do
	name=$service${path//\//-}
	out=$profiles/$name
	in_loadgen wrk -t 1 -c 64 -d "$((seconds + 2))s" "http://$service:8080$path" >"$out.wrk" &
	sleep 1
	cpu_time "$pid" >"$out.before"
	py-spy record --pid "$pid" --format raw --duration "$seconds" --idle --output "$out.raw" >"$out.log" 2>&1 ||
		fail 1 "py-spy failed; $out.log says why"
	cpu_time "$pid" >"$out.after"
	wait $! || fail 1 "wrk failed; $out.wrk has its output"
	in_tools python3 -m bench profile "results/profiles/$name" "$path"
done
