# shellcheck shell=bash
# What runs for as long as the run does: database, upstream, load generator; their counters, and those of a service that has
# nothing to do. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/counters.sh"
# shellcheck source=scripts/lib/dead_runs.sh
source "${BASH_SOURCE[0]%/*}/dead_runs.sh"
# shellcheck source=scripts/lib/readers.sh
source "${BASH_SOURCE[0]%/*}/readers.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# start_dependencies: for the length of the run.
start_dependencies() {
	local log=$run_dir/${lane}start.log words taken
	if ! up_dependencies && ! retry_without_dead_runs; then
		! taken=$(subnet_taken) || fail 2 "the subnet $BENCH_SUBNET is in use by Docker's network $taken (another run?): end that, or set BENCH_SUBNET in .env"
		words=$(tail -n1 "$log")
		fail 1 "the database, upstream or load generator does not start: $words"
	fi
	find_irq_time
	for ((i = 0; i < 100; i++)); do
		if database_ready && find_dependencies && find_cgroups; then
			[[ ! $several ]] || know_machines
			return
		fi
		sleep 0.1
		((i % 10 < 9)) || start_ended
	done
	words=$(at support logs --tail 1 "$project-postgres-1" 2>&1) || words='its container is gone'
	fail 1 "the database has no rows after 10 s: $words"
}

up_dependencies() { attend compose_each up --detach --no-build -- "${DEPENDENCIES[@]}" >"$log" 2>&1; }

retry_without_dead_runs() { subnet_taken >/dev/null && remove_dead_runs && up_dependencies; }

# subnet_taken: prints the networks that are not this run's and have addresses of its subnet; false where none has.
subnet_taken() {
	local names
	names=$("$docker" network ls --format '{{.Name}}') || return
	# shellcheck disable=SC2086 # a name each; one that is gone by now is left out
	{ "$docker" network inspect $names 2>/dev/null || true; } | in_tools python3 -m bench subnet-taken "$BENCH_SUBNET" "$project"
}

# database_ready: a user's own service of that name takes its place, and is not waited for here.
database_ready() {
	[[ " ${DEPENDENCIES[*]} " != *' postgres '* ]] || at support exec "$project-postgres-1" /usr/local/bin/ready >/dev/null 2>&1
}

# start_ended: one that was killed as it started has another try.
start_ended() {
	find_ended
	((${#ended[@]} == 0)) || up_dependencies || true
}

# find_ended: sets `ended` to those whose container is there and does not run. Where the engine does not answer, nothing is known.
# shellcheck disable=SC2154 # many.sh sets containers
find_ended() {
	local name running found='' format='{{index .Config.Labels "com.docker.compose.service"}} {{.State.Running}}'
	ended=()
	name_containers "${DEPENDENCIES[@]}"
	((${#containers[@]} == 0)) || found=$(look_at support "$format" "${containers[@]}")
	((${#containers[@]} == 0)) || [[ ! $several ]] || found+=$'\n'$(look_at loadgen "$format" "${containers[@]}")
	while read -r name running; do [[ $running != false ]] || ended+=("$name"); done <<<"$found"
}
ended=()

# find_dependencies: their processes, looked up once.
find_dependencies() {
	local name
	for name in "${DEPENDENCIES[@]}"; do
		dependency_pid[$name]=$(beside "$name" inspect --format '{{.State.Pid}}' "$project-$name-1") || return
	done
}

# find_cgroups: whether this engine's can be read, by the load generator's. Several machines have readers of their own.
find_cgroups() {
	local id
	[[ ! $several ]] || return 0
	id=$("$docker" inspect --format '{{.Id}}' "$project-loadgen-1") || return
	find_counters "$id" "${dependency_pid[loadgen]}"
}

# own_services: sets `found` to the Compose services of the user's own app.
own_services() {
	local name
	found=()
	for name in "${DEPENDENCIES[@]}"; do [[ $name != own-* ]] || found+=("$name"); done
}

# dependency_state NAME: its counters.
dependency_state() { read_at support counters "${dependency_pid[$1]:-0}"; }

# save_idle NAME: the counters of a service that was asked for one answer, once its memory has settled (5 s at most): other
# workers may still load while the first one answers.
save_idle() {
	local state was now=0 i
	for ((i = 0; i < 25; i++)); do
		was=$now
		state=$(server_state "$1")
		now=$(sed -n 's/^memory_current_bytes //p' <<<"$state")
		((${now:-0} > was + was / 100)) || break
		sleep 0.2
	done
	{ printf '%s\n' "$state" && read_at server file_memory "$server_pid"; } | save "$run_dir/raw/services/$1/idle.txt"
}
