# shellcheck shell=bash
# Where a worker's time goes, for scripts/profile.sh: a service beside its database, in a project of its own, and py-spy's
# samples of it under load. Only declares; the script sets `service` and `paths`.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/../lib/compose.sh"

service='' paths=()
project=bench-profile-$$ profiles=$root/results/profiles

# own ARGUMENT...: Compose on containers of this call alone.
own() { compose --project-name "$project" --file "$profiles/services.yml" --profile '*' "$@"; }

in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }

# start_service: it answers the first path when this returns.
start_service() {
	local log=$profiles/services.log
	mkdir -p "$profiles"
	# Only this one: to read every service of the matrix, Compose takes minutes.
	in_tools python3 -m bench profile-compose "$service" >"$profiles/services.yml"
	own up --detach --no-build loadgen postgres upstream "$service" >"$log" 2>&1 ||
		fail 1 "$service does not start: build it with scripts/verify.sh $service, or see $log"
	in_loadgen curl -sf --retry 50 --retry-all-errors --retry-delay 1 --output /dev/null "http://$service:8080${paths[0]}" ||
		fail 1 "$service does not answer ${paths[0]} with success"
}

# stop_service: if it was started.
stop_service() {
	[[ ! -e $profiles/services.yml ]] || own down --timeout 0 --volumes >/dev/null 2>&1 || true
}

# cpu_time PID: the time in ns, and what /proc says of the process.
cpu_time() { printf '%s000 %s\n' "${EPOCHREALTIME/./}" "$(<"/proc/$1/stat")"; }

# sample: the service under load of each of `paths`.
sample() {
	local pid child path name out seconds=4
	start_service
	# From Docker's init by way of the server to its (first) worker, which is there once the first response is.
	pid=$("$docker" inspect --format '{{.State.Pid}}' "$project-$service-1")
	while child=$(pgrep --oldest --parent "$pid"); do pid=$child; done
	for path in "${paths[@]}"; do
		name=$service${path//\//-}
		out=$profiles/$name
		in_loadgen wrk -t 1 -c 64 -d "$((seconds + 2))s" "http://$service:8080$path" >"$out.wrk" &
		sleep 1
		cpu_time "$pid" >"$out.before"
		PYTHONPATH=$root python3 -m driver.steps.sampler "$project-$service-1" "$project" "$seconds" "$out.raw" 2>"$out.log" ||
			fail 1 "py-spy failed; $out.log says why"
		cpu_time "$pid" >"$out.after"
		wait $! || fail 1 "wrk failed; $out.wrk has its output"
		in_tools python3 -m bench profile "results/profiles/$name" "$path"
	done
}
