# shellcheck shell=bash
# Whoever starts the containers: each service is verified once, before any load.
# Only declares. The caller sets `run` and `run_dir` and declares what differs:
#   start_service NAME, start_log NAME, stop_service NAME, is_running NAME, server_log NAME, server_state NAME,
#   keep_idle NAME, backing_state NAME, server_limits NAME, keep_facts NAME IMAGE, in_loadgen COMMAND..., report VERB...

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/late.sh
source "${BASH_SOURCE[0]%/*}/late.sh"
# shellcheck source=scripts/lib/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"

run='' run_dir='' once_more=''

# service_failed SERVICE OUTCOME DETAIL: its cells are not loaded, and the report says why.
service_failed() {
	warn "$1: $2: $3"
	json_object outcome "$2" detail "$3" | save "$run_dir/raw/services/$1/failure.json"
}

# verify_services JOBS: the contract, once a service and run, JOBS at a time; what fails is not loaded. What was only late
# beside others is asked once more, alone, as that may be the machine's fault; a wrong answer has no second chance.
verify_services() {
	local line lines
	mapfile -t lines < <(report services "$run")
	(($1 == 1 || ${#lines[@]} == 1)) || once_more=yes
	for line in "${lines[@]}"; do
		[[ -e $run_dir/raw/services/${line%%$'\t'*}/failure.json ]] || spawn "$1" verify_service "$line"
	done
	await_spawned
	once_more=''
	for line in "${lines[@]}"; do
		[[ ! -e $run_dir/raw/services/${line%%$'\t'*}/beside ]] || verify_service "$line"
	done
}

# verify_service LINE: of `report services`.
verify_service() {
	local name image waits routes folder status=0
	IFS=$'\t' read -r name image waits routes _ <<<"$1"
	folder=$run_dir/raw/services/$name
	keep_facts "$name" "$image"
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
	attend in_loadgen python3 -m bench verify --service "$name" --base-url "http://$name:8080" "$waits" --routes "$routes" \
		--database-host postgres --database-password-file /run/secrets/database_password --upstream-control http://upstream:8081 \
		--json "results/$run/raw/services/$name/verify.json" >"$folder/verify.txt" 2>&1 || status=$?
	if ((status == 0)); then
		say "$name: verified ($(tail -n1 "$folder/verify.txt"))"
	elif [[ $once_more ]] && only_late "$folder/verify.txt"; then
		set_aside "$name"
	else
		server_log "$name" >"$folder/server.log" 2>&1 || true
		service_failed "$name" "failed verification" "$(grep -m1 '^not ok' "$folder/verify.txt" || tail -n1 "$folder/verify.txt")"
	fi
	stop_service "$name"
}
