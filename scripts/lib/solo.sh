# shellcheck shell=bash
# One measurement of one service. Only declares; measure.sh says what the engine has to offer.

# shellcheck source=scripts/lib/clients.sh
source "${BASH_SOURCE[0]%/*}/clients.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# measure_solo: fresh container, first good answer, warm-up, load, down. Adds to `facts`.
measure_solo() {
	local service=${STEP_SERVICES[0]} dir=$run_dir/$STEP_DIR status=0 alive=yes
	# The load generator is new too: connections that a last load left waiting to end would fill its ports.
	start_service "$service" loadgen || status=$?
	((status)) || start_clients || status=$?
	facts+=("start_status=$status" "image_id=$image_id" "started_ns=$started_ns")
	if ((status == 0)); then
		solo_verb prepare
		((status != did_not_start)) || [[ ! $several ]] || note_unreached "$service"
		# One that was killed for want of memory in its warm-up is told by its counters.
		((status == 0)) || save_last_state
	fi
	if ((status == 0)); then
		save_counters before
		[[ ! $sampling ]] || start_sampling "$service" "$dir"
		if ((${#STEP_CLIENTS[@]})); then load_by_clients; else solo_verb run; fi
		[[ ! $sampling ]] || end_sampling
		save_counters after
		merge_clients
	fi
	facts+=("loaded_ns=$(now_ns)")
	is_running "$service" || alive=no
	facts+=("alive=$alive")
	[[ $status == 0 && $alive == yes ]] || server_log "$service" >"$dir/server.log" 2>&1 || true
	stop_service "$service"
}

# solo_verb VERB: loadgen/measure VERB; sets `status` of measure_solo.
solo_verb() {
	status=0
	attend in_loadgen loadgen/measure "$1" "results/$run" >"$dir/$1.txt" 2>&1 || status=$?
	facts+=("$1_status=$status")
}

# save_last_state: of a container that may be gone.
save_last_state() {
	local state
	state=$(server_state "$service" 2>/dev/null) || return 0
	save "$dir/server.after" <<<"$state"
}

# save_counters WHEN: of the service, and of what it depends on.
save_counters() {
	local name
	for name in "${DEPENDENCIES[@]}"; do
		[[ $name != own-* ]] || dependency_state "$name" | save "$dir/$name.$1"
	done
	server_state "$service" | save "$dir/server.$1"
	dependency_state postgres | save "$dir/database.$1"
	dependency_state upstream | save "$dir/upstream.$1"
}
