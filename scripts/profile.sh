#!/usr/bin/env bash
#
# Usage: scripts/profile.sh SERVICE PATH...
#
# Samples a built service's (first) worker with py-spy while wrk asks for each path: prints its CPU and the samples
# by the package of the innermost frame, leaves all stacks in results/profiles/ (collapsed, as flame
# graph tools read them). Needs root and py-spy on PATH (pip install py-spy).
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
((EUID == 0)) || fail 2 "only root may look into another user's process"
"$root/scripts/setup.sh"
find_docker
own() { compose --project-name "$project" --profile '*' "$@"; }
in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }
trap 'own down --timeout 0 --volumes >/dev/null 2>&1' EXIT
own up --detach --no-build loadgen postgres upstream "$service" >/dev/null 2>&1 ||
	fail 1 "$service does not start: build it with scripts/verify.sh $service"
# From Docker's init by way of the server to its (first) worker, which is there when the first answer is.
pid=$("$docker" inspect --format '{{.State.Pid}}' "$project-$service-1")
in_loadgen curl -sf --retry 50 --retry-all-errors --retry-delay 1 --output /dev/null "http://$service:8080$2"
while child=$(pgrep --parent "$pid" | head -n1) && [[ $child ]]; do pid=$child; done
# ticks: of CPU so far, in user space and in the kernel.
ticks() { sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f12,13; }
mkdir -p "$root/results/profiles"
for path in "${@:2}"; do
	out=$root/results/profiles/$service${path//\//-}
	in_loadgen wrk -t 1 -c 64 -d "$((seconds + 2))s" "http://$service:8080$path" >"$out.wrk" &
	sleep 1
	before=$(ticks)
	py-spy record --pid "$pid" --format raw --duration "$seconds" --idle --output "$out.raw" >"$out.log" 2>&1
	after=$(ticks)
	echo "$before $after" | awk -v s="$seconds" -v hz="$(getconf CLK_TCK)" -v path="$path" \
		'{ u = ($3 - $1) / hz / s; k = ($4 - $2) / hz / s; printf "%s: CPU %.0f %% in user space, %.0f %% in the kernel\n", path, 100 * u, 100 * k }'
	wait $!
	# Without the threads of a pool that wait for work.
	sed -E '/_worker \(concurrent[^;]*$/d; s/^(.*;)?[^;(]*\(([^:)]*)[^)]*\) ([0-9]+)$/\2 \3/; s#^([^/ ]*)/[^ ]*#\1#' "$out.raw" |
		awk '{ n[$1] += $2; sum += $2 } END { for (k in n) printf "%5.1f %% %s\n", 100 * n[k] / sum, k }' | sort -rn
done
