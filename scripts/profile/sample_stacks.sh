# shellcheck shell=bash
# Where a worker's time goes, for scripts/profile.sh: py-spy's samples under load. Only declares; the script sets
# `service` and `paths`.

# shellcheck source=scripts/profile/profiled.sh
source "${BASH_SOURCE[0]%/*}/profiled.sh"

service=''

# cpu_time PID: the time in ns, and what /proc says of the process.
cpu_time() { printf '%s000 %s\n' "${EPOCHREALTIME/./}" "$(<"/proc/$1/stat")"; }

# sample: `service` under load of each of `paths`.
sample() {
	local pid child path name out seconds=4
	start_services "$service"
	# From Docker's init by way of the server to its (first) worker, which is there once the first response is.
	pid=$(first_pid "$service")
	while child=$(pgrep --oldest --parent "$pid"); do pid=$child; done
	for path in "${paths[@]}"; do
		name=$service${path//\//-}
		out=$profiles/$name
		in_loadgen wrk -t 1 -c 64 -d "$((seconds + 2))s" "http://$service:8080$path" >"$out.wrk" &
		sleep 1
		cpu_time "$pid" >"$out.before"
		PYTHONPATH=$root python3 -m driver.sampler "$project-$service-1" "$project" "$seconds" "$out.raw" 2>"$out.log" ||
			fail 1 "py-spy failed; $out.log says why"
		cpu_time "$pid" >"$out.after"
		wait $! || fail 1 "wrk failed; $out.wrk has its output"
		in_tools python3 -m bench profile "results/profiles/$name" "$path"
	done
}
