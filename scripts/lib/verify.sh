# shellcheck shell=bash
# Whoever starts the containers: each service is verified once, before any load.
# Only declares. The caller sets `run` and `run_dir` and declares what differs:
#   start_service NAME, start_log NAME, stop_service NAME, is_running NAME, server_log NAME, server_state NAME,
#   keep_idle NAME, backing_state database|upstream, server_limits NAME, keep_facts NAME IMAGE, in_loadgen COMMAND..., report VERB...

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"

run='' run_dir=''

# service_failed SERVICE OUTCOME DETAIL: its cells are not loaded, and the report says why.
service_failed() {
	warn "$1: $2: $3"
	json_object outcome "$2" detail "$3" | save "$run_dir/raw/services/$1/failure.json"
}

# jobs_at_a_time: how many services are verified side by side: two on a core, where memory allows.
jobs_at_a_time() {
	local cores free
	cores=$(nproc)
	free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
	((free /= 1 << 20, free = free < 1 ? 1 : free))
	echo $((free < 2 * cores ? free : 2 * cores))
}

# verify_services JOBS: the contract, once a service and run, JOBS at a time; what fails is not loaded.
verify_services() {
	local name image waits routes
	while IFS=$'\t' read -r -u 3 name image waits routes _; do
		[[ -e $run_dir/raw/services/$name/failure.json ]] || spawn "$1" verify_service "$name" "$image" "$waits" "$routes"
	done 3< <(report services "$run")
	await_spawned
}

verify_service() {
	local name=$1 folder=$run_dir/raw/services/$1 status=0
	keep_facts "$name" "$2"
	[[ ! -e $folder/verify.json ]] || return 0
	mkdir -p "$folder"
	if ! start_service "$name"; then
		service_failed "$name" "did not start" "$(tail -n1 "$(start_log "$name")")"
		return
	fi
	if ! await_answer "$name"; then
		server_log "$name" >"$folder/server.log" 2>&1 || true
		service_failed "$name" "did not start" "no answer in ${READY_TIMEOUT:-30} s; its last words: $(grep . "$folder/server.log" | tail -n1)"
		stop_service "$name"
		return
	fi
	keep_idle "$name"
	server_limits "$name" | save "$folder/limits.txt"
	attend in_loadgen python3 -m report verify --service "$name" --base-url "http://$name:8080" "$3" --routes "$4" \
		--database-host postgres --database-password-file /run/secrets/database_password --upstream-control http://upstream:8081 \
		--json "results/$run/raw/services/$name/verify.json" >"$folder/verify.txt" 2>&1 || status=$?
	if ((status == 0)); then
		say "$name: verified ($(tail -n1 "$folder/verify.txt"))"
	else
		server_log "$name" >"$folder/server.log" 2>&1 || true
		service_failed "$name" "failed verification" "$(grep -m1 '^not ok' "$folder/verify.txt" || tail -n1 "$folder/verify.txt")"
	fi
	stop_service "$name"
}
