#!/usr/bin/env bash
#
# Usage: scripts/profile.sh SERVICE PATH...
#        scripts/profile.sh --table [--python X] [--rounds N] [--paths LIST] SERVER...
#
# Samples the first worker of a built service with py-spy while wrk requests each path. Prints the worker's
# CPU time and the samples by the package of the innermost frame; all stacks are saved in results/profiles/
# (collapsed, as flame graph tools read them). Needs root, and py-spy on PATH (pip install py-spy).
#
# --table prints what frameworks cost: CPU time per request of each service of a server, as a share of the bare
# app's on the same server, and what in it needs an explanation. All services of a server run at once, and each
# path is requested from one after the other for a second, in every round.
#
#   --python X     3.13 if not given
#   --rounds N     3 if not given
#   --paths LIST   with commas; without it, the routes of docs/profiles.md
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"
# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/lib/counters.sh"
trap_errors

python=3.13 rounds=3 service='' names=()
paths=(/json /plaintext /{raw,orm}/{db,queries/20,updates/20,fortunes})
case ${1:-} in
-h | --help) usage && exit ;;
--table)
	shift
	while (($#)); do
		case $1 in
		--python) python=${2:?} && shift ;;
		--rounds) rounds=${2:?} && shift ;;
		--paths) IFS=, read -ra paths <<<"${2:?}" && shift ;;
		-*) fail 2 "unknown argument '$1', see --help" ;;
		*) names+=("$1") ;;
		esac
		shift
	done
	((${#names[@]})) || fail 2 "which servers? see --help"
	[[ $rounds =~ ^[1-9][0-9]?$ ]] || fail 2 "--rounds '$rounds' is not a number from 1 to 99"
	;;
*)
	(($# >= 2)) || fail 2 "which service and paths? see --help"
	service=$1 paths=("${@:2}")
	command -v py-spy >/dev/null || fail 2 "py-spy is not here: pip install py-spy"
	((EUID == 0)) || fail 2 "only root may inspect another user's process: run it as root"
	;;
esac
"$root/scripts/setup.sh"
find_docker
seconds=4 project=bench-profile-$$ profiles=$root/results/profiles
mkdir -p "$profiles"
log=$profiles/${service:-table}.log

# own ARGUMENT...: Compose on containers of this call alone.
own() { compose --project-name "$project" --file "$profiles/services.yml" --profile '*' "$@"; }

in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }

# start SERVICE...: beside their database; each answers the first path when this returns.
start() {
	local name
	# Only these: to read every service of the matrix, Compose takes minutes.
	in_tools python3 -m bench profile-compose "$@" >"$profiles/services.yml"
	own up --detach --no-build loadgen postgres upstream "$@" >"$log" 2>&1 ||
		fail 1 "$* do not start: build them with scripts/verify.sh $*, or see $log"
	for name; do
		in_loadgen curl -sf --retry 50 --retry-all-errors --retry-delay 1 --output /dev/null "http://$name:8080${paths[0]}" ||
			fail 1 "$name does not answer ${paths[0]} with success"
	done
}

first_pid() { "$docker" inspect --format '{{.State.Pid}}' "$project-$1-1"; }

# cpu_time PID: the time in ns, and what /proc says of the process.
cpu_time() { printf '%s000 %s\n' "${EPOCHREALTIME/./}" "$(<"/proc/$1/stat")"; }

sample() {
	local pid child path name out
	start "$service"
	# From Docker's init by way of the server to its (first) worker, which is there once the first response is.
	pid=$(first_pid "$service")
	while child=$(pgrep --oldest --parent "$pid"); do pid=$child; done
	for path in "${paths[@]}"; do
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
}

# load SERVICE PID PATH OUT: a moment to warm up, then a second that counts.
load() {
	local wrk=(wrk -t 1 -c 16 "http://$1:8080$3")
	in_loadgen "${wrk[@]}" -d 0.2s >/dev/null || true
	counters "$2" >"$4.before"
	in_loadgen "${wrk[@]}" -d 1s >"$4.wrk" || fail 1 "wrk failed; $4.wrk has its output"
	counters "$2" >"$4.after"
}

# cost SERVICE...: every path of each, round by round.
cost() {
	local name round number
	local -A pid=()
	start "$@"
	for name; do
		pid[$name]=$(first_pid "$name")
		mkdir -p "$profiles/table/$name"
	done
	for ((round = 1; round <= rounds; round++)); do
		for number in "${!paths[@]}"; do
			for name; do load "$name" "${pid[$name]}" "${paths[number]}" "$profiles/table/$name/$number.$round"; done
		done
	done
	own down --timeout 0 --volumes >/dev/null 2>&1
}

trap 'own down --timeout 0 --volumes >/dev/null 2>&1' EXIT
if [[ $service ]]; then
	sample
	exit
fi
lines=$(in_tools python3 -m bench profile-services "$python" "${names[@]}") || exit $?
rm -rf "$profiles/table"
# All of a server's services together must leave the database connections for the verifier.
export DB_POOL_TOTAL=4
while read -ra group; do cost "${group[@]}"; done <<<"$lines"
in_tools python3 -m bench profile-table results/profiles/table "${paths[@]}"
