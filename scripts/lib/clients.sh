# shellcheck shell=bash
# Several load generators on one service (--loadgens): containers beside the first one, or on a swarm a node for each. What
# each does is the load client_N of step.sh. Only declares; containers.sh has what they need.

# shellcheck source=scripts/lib/client_clocks.sh
source "${BASH_SOURCE[0]%/*}/client_clocks.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# How long after it was agreed on, the load begins: until then `docker exec` has started all of them.
ahead_ns=1000000000 ahead_on_nodes_ns=3000000000

# start_clients: those beside the first one, which is started with the service.
start_clients() {
	local number more=${#STEP_CLIENTS[@]} compose_context log
	((more > 1)) || return 0
	log=$(start_log "${STEP_SERVICES[0]}") || return
	if [[ ! $several ]]; then
		run_compose up --detach --no-deps --no-build --no-recreate --scale "loadgen=$more" loadgen >>"$log" 2>&1 || return
		return 0
	fi
	for ((number = 2; number <= more; number++)); do
		# shellcheck disable=SC2034 # run_compose uses it
		compose_context=${context_of["loadgen-$number"]}
		run_compose "${fresh[@]}" loadgen >>"$log" 2>&1 || return
	done
}

# load_by_clients: all of them, from one moment on; sets `status` of measure_solo to that of the first that fails.
load_by_clients() {
	local start=0
	# shellcheck disable=SC2154 # measure_solo's
	rm -rf "$dir"/client-*
	status=0
	in_each_client client_inputs || status=$?
	((status)) || read_client_clocks >"$dir/clients.tsv" 2>"$dir/run.txt" || status=$?
	if ((status == 0)); then
		start=$(now_ns)
		if [[ $several ]]; then ((start += ahead_on_nodes_ns)); else ((start += ahead_ns)); fi
		in_each_client client_run "$start" || status=$?
	fi
}

# in_each_client FUNCTION ARGUMENT...: at once for each, with its number; the status is that of the first that failed, whose last
# line is what is said of the step.
in_each_client() {
	local number pids=() failed=0 own
	for ((number = 1; number <= ${#STEP_CLIENTS[@]}; number++)); do
		in_background "$1" "$number" "${@:2}" || return
		pids[number]=$child
	done
	for number in "${!pids[@]}"; do
		own=0
		wait "${pids[number]}" || own=$?
		((own && !failed)) || continue
		failed=$own
		printf 'client %d: %s\n' "$number" "$(tail -n 1 "$dir/client-$number.txt" 2>/dev/null)" >"$dir/run.txt"
	done
	return "$failed"
}

# client_inputs NUMBER: on another machine, what the load needs.
client_inputs() {
	local far_role
	role_of_client "$1"
	[[ ! $several ]] || send_inputs "$STEP_DIR" >"$dir/client-$1.txt" 2>&1
}

# client_run NUMBER START_NS: its share of the load, from START_NS on by this machine's clock.
client_run() {
	local far_role ended=0 ahead
	role_of_client "$1"
	ahead=$(awk -F'\t' -v number="$1" 'NR == number { print $2 }' "$dir/clients.tsv") || return
	in_client "$1" env "START_AT=$(($2 + ahead))" loadgen/measure run "results/$run" "client_$1" >"$dir/client-$1.txt" 2>&1 || ended=$?
	[[ ! $several ]] || bring_home "$STEP_DIR" || return
	return "$ended"
}

# merge_clients: their outputs as one, where all have one. Adds to `facts`.
merge_clients() {
	local where=in_loadgen
	((${#STEP_CLIENTS[@]})) || return 0
	[[ ! $several ]] || where=in_tools
	if ((status == 0)); then attend "$where" loadgen/measure merge "results/$run" >"$dir/run.txt" 2>&1 || status=$?; fi
	facts+=("run_status=$status")
}
