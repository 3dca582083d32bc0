# shellcheck shell=bash
# A run on several machines: what it needs there, and when one is lost. The measuring loop is the one of a single machine:
# engine.sh's `at` reaches the engine of a role. Only declares; needs run.sh.

# shellcheck source=scripts/lib/away.sh
source "${BASH_SOURCE[0]%/*}/away.sh"
# shellcheck source=scripts/lib/contexts_ready.sh
source "${BASH_SOURCE[0]%/*}/contexts_ready.sh"
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/lanes.sh
source "${BASH_SOURCE[0]%/*}/lanes.sh"
# shellcheck source=scripts/lib/readers.sh
source "${BASH_SOURCE[0]%/*}/readers.sh"
# shellcheck source=scripts/lib/roles.sh
source "${BASH_SOURCE[0]%/*}/roles.sh"
# shellcheck source=scripts/lib/several_left.sh
source "${BASH_SOURCE[0]%/*}/several_left.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# ready_nodes: images, network, volumes and readers, once the services are built.
ready_nodes() {
	local images=(bench/loadgen bench/postgres bench/upstream) service
	[[ $several ]] || return 0
	for service in "${SERVICES[@]}"; do
		[[ -e $run_dir/raw/services/$service/failure.json ]] || images+=("${IMAGE_OF[$service]}")
	done
	mapfile -t images < <(printf '%s\n' "${images[@]}" | sort -u)
	if [[ $several == contexts ]]; then
		# It verifies where the database is.
		DEPENDENCIES+=(checker)
		send_to_machines "${images[@]}"
		make_networks
	else
		"$root/scripts/swarm.sh" up
		"$root/scripts/swarm.sh" send "${images[@]}"
		make_network
	fi
	fill_nodes
	if [[ $several == contexts ]]; then need_way; else ready_lanes; fi
}

# fill_nodes: volumes and readers.
fill_nodes() {
	local role
	for role in "${roles[@]}"; do fill_volumes "$role" || fail 1 "node ${node_of[$role]} does not take the project"; done
	for role in server support; do start_reader "$role" || fail 1 "the counters of node ${node_of[$role]} cannot be read"; done
}

# make_network: as the project's own Compose file has it, of the swarm.
make_network() {
	local options
	find_manager || fail 1 "the run has no network"
	# A lost node keeps the one that the run had, until the swarm has given it up.
	! "$docker" --context "$manager" network inspect "$project" >/dev/null 2>&1 || return 0
	options=$(compose config --format json loadgen | in_tools python3 -m bench swarm-network)
	mapfile -t options <<<"$options"
	"$docker" --context "$manager" network create "${options[@]}" --label "com.docker.compose.project=$project" "$project" \
		>/dev/null 2>"$run_dir/${lane}start.log" ||
		fail 2 "the swarm makes no network of $BENCH_SUBNET: $(tail -n1 "$run_dir/${lane}start.log")"
}

# know_machines: whether the load generator is on another kernel than the server, so that each has CPU time of its own.
know_machines() {
	local here there
	there=$(read_at server boot_id)
	here=$(at loadgen exec "$project-loadgen-1" cat /proc/sys/kernel/random/boot_id)
	apart=no
	[[ $here == "$there" ]] || apart=yes
}

# need_nodes: what happened in a step while a machine was lost is nobody's failure; it is measured again.
need_nodes() {
	local role name reached
	for role in "${roles[@]}"; do
		name=$project-counters-$role
		[[ $role != loadgen ]] || name=$project-loadgen-1
		reach "${context_of[$role]}"
		# The others of several load generators may not have been started.
		[[ $role != loadgen-* ]] || ! timeout 20 "$docker" "${reached[@]}" version >/dev/null 2>&1 || continue
		[[ $(timeout 20 "$docker" "${reached[@]}" inspect --format '{{.State.Running}}' "$name" 2>/dev/null) == true ]] ||
			fail 1 "node ${node_of[$role]} ($role) is lost: what it was measuring is not recorded"
	done
}

# note_unreached NAME...: of these services, which gave the load generator no answer, those that answer at home. Adds to `facts`; by it,
# Python has the step measured again.
note_unreached() {
	local name unreached=()
	for name; do ! answers_at_home "$name" || unreached+=("$name"); done
	((${#unreached[@]} == 0)) || facts+=("unreached=${unreached[*]}")
}

# answers_at_home NAME: on its own machine, whatever it says. An overlay network loses a new container now and then.
answers_at_home() {
	at server exec "$project-counters-server" curl --silent --output /dev/null --max-time 5 "http://$1:8080/" >/dev/null 2>&1
}
