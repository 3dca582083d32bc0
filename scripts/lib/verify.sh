# shellcheck shell=bash
# Each service is verified once, before any load. Only declares; measure.sh says what the engine has to offer.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=scripts/lib/contract.sh
source "${BASH_SOURCE[0]%/*}/contract.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"
# shellcheck source=scripts/lib/retry_timeouts.sh
source "${BASH_SOURCE[0]%/*}/retry_timeouts.sh"
# shellcheck source=scripts/lib/sockets.sh
source "${BASH_SOURCE[0]%/*}/sockets.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# service_failed NAME CAUSE [DETAIL]: it is not loaded, and the report says why. `bench service-failed` has the causes.
service_failed() {
	local words
	words=$(bench service-failed "$run" "$@")
	warn "$words"
}

# verify_services JOBS [--contract]: the contract, once a service and run, JOBS at a time; what fails is not loaded. What was
# only late beside others is verified once more, alone, as that may be the machine's fault; a wrong answer is not. With
# --contract nothing will be measured: what only figures need is left out, and its sockets and how it ends are checked too.
verify_services() {
	local name crowd=crowd asked=() try
	((${#SERVICES[@]} > 1 && $1 > 1)) || crowd=''
	for name in "${SERVICES[@]}"; do
		[[ ! -e $run_dir/raw/services/$name/failure.json ]] || continue
		asked+=("$name")
		spawn "$1" verify_service "$name" "$crowd" "${2:-}"
	done
	await_spawned
	revive_and_ask_again "${asked[@]}"
	for try in 1 2 3; do
		for name in "${asked[@]}"; do
			! is_set_aside "$name" || verify_service "$name" '' "${2:-}"
		done
		revive_and_ask_again "${asked[@]}"
		((${#revived[@]})) || return 0
	done
	fail 1 "${revived[*]} ended $try times while services were verified"
}

# verify_service NAME CROWD CONTRACT: CROWD is not empty where others are verified beside it.
verify_service() {
	local name=$1 folder=$run_dir/raw/services/$1
	mkdir -p "$folder"
	[[ $3 ]] || save_provenance "$name"
	[[ ! -e $folder/verify.json ]] || return 0
	if ! start_service "$name"; then
		service_failed "$name" start
	elif ! await_answer "$name"; then
		# Else the network between two machines has lost it.
		if [[ $several ]] && ! is_set_aside "$name" && answers_at_home "$name"; then
			set_aside "$name"
			stop_service "$name"
			return
		fi
		save_log "$name"
		service_failed "$name" answer "${READY_TIMEOUT:-30}"
	else
		[[ ! $OWN_APP ]] || save "$folder/started.txt" <<<"$started_ns $(now_ns)"
		[[ $3 ]] || save_facts_of "$name"
		if [[ $OWN_APP ]]; then check_own_answers "$name"; else check_contract "$name" "$2"; fi
		if [[ $3 && -e $folder/verify.json ]]; then
			check_sockets "$name"
			end_under_load "$name" "$2"
		fi
	fi
	stop_service "$name"
}

# save_log NAME: its last words, and whether it was killed for want of memory.
save_log() {
	server_log "$1" >"$run_dir/raw/services/$1/server.log" 2>&1 || true
	# failure ignored: of a container that is gone
	server_state "$1" >"$run_dir/raw/services/$1/state.txt" 2>/dev/null || true
}

# save_facts_of NAME: what a figure needs of the service.
save_facts_of() {
	save_idle "$1"
	service_limits "$1" | save "$run_dir/raw/services/$1/limits.txt"
}
