# shellcheck shell=bash
# The engine of the measuring loop (see measure.sh) on this machine's Docker: fresh containers for every measurement. Only
# declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/dependencies.sh
source "${BASH_SOURCE[0]%/*}/dependencies.sh"
# shellcheck source=scripts/lib/provenance.sh
source "${BASH_SOURCE[0]%/*}/provenance.sh"
# shellcheck source=scripts/lib/many.sh
source "${BASH_SOURCE[0]%/*}/many.sh"
# shellcheck source=scripts/lib/revive.sh
source "${BASH_SOURCE[0]%/*}/revive.sh"
# shellcheck source=scripts/lib/several.sh
source "${BASH_SOURCE[0]%/*}/several.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/target.sh
source "${BASH_SOURCE[0]%/*}/target.sh"

# bench VERB...: where the load generator is up, in it: to start a container costs more than most verbs. One that was killed
# with it is tried again elsewhere, but for `next`, which measure_all begins again.
bench() {
	local status=0
	if [[ $project && ! $several ]] && is_running loadgen; then
		in_loadgen python3 -m bench "$@" || status=$?
		if ((status == 0)) || [[ $1 == *next ]] || is_running loadgen; then return "$status"; fi
	fi
	in_tools python3 -m bench "$@"
}

# run_compose ARGUMENT...: Compose on this run's own resolved file, and on no other.
run_compose() {
	local reached
	reach "${compose_context:-}"
	own_docker "${reached[@]}" compose --project-name "$project" --file "$run_dir/${lane}compose.yml" "${own_values[@]}" "$@"
}

in_loadgen() { "in_${several:+far_}loadgen_container" "$@"; }

in_loadgen_container() { "$docker" exec "$project-$loadgen-1" "$@"; }

# compose_each ARGUMENT... -- NAME...: run_compose with these arguments and services, on the engine of each service.
compose_each() {
	local arguments=() role name where compose_context
	local -A on_engine=()
	while [[ $1 != -- ]]; do arguments+=("$1") && shift; done
	shift
	for name; do
		role_of "$name"
		where="at ${context_of[$role]:-}"
		on_engine[$where]+=" $name"
	done
	for name in "${!on_engine[@]}"; do
		compose_context=${name#at }
		# shellcheck disable=SC2086 # a word for each
		run_compose "${arguments[@]}" ${on_engine[$name]} && continue
		# A container joins a swarm's network with the help of a manager, of which none may lead for a moment.
		{ [[ $several == swarm ]] && find_manager; } || return
		# shellcheck disable=SC2086
		run_compose "${arguments[@]}" ${on_engine[$name]} || return
	done
}

# start_service NAME [loadgen]: a fresh container of it (and of the load generator).
# shellcheck disable=SC2034 # image_id and started_ns are solo.sh's
start_service() {
	local log found started
	image_id='' server_pid='' started_ns=''
	if is_target "$1"; then
		start_host_loadgen || return
		return 0
	fi
	log=$(start_log "$1") || return
	compose_each "${fresh[@]}" -- "$@" >"$log" 2>&1 || return
	found=$(beside "$1" inspect --format '{{.State.Pid}} {{.Image}} {{.State.StartedAt}}' "$project-$1-1") || return
	read -r server_pid image_id started <<<"$found"
	started_ns=$(date --date="$started" +%s%N) || started_ns=''
}

start_log() { mkdir -p "$run_dir/raw/services/$1" && printf '%s' "$run_dir/raw/services/$1/start.log"; }

stop_service() {
	if is_target "$1"; then stop_host_loadgen; else beside "$1" rm --force --volumes "$project-$1-1" >/dev/null 2>&1 || true; fi
}

is_running() { is_target "$1" || [[ $(beside "$1" inspect --format '{{.State.Running}}' "$project-$1-1" 2>/dev/null) == true ]]; }

server_log() { is_target "$1" || beside "$1" logs --tail 50 "$project-$1-1" 2>&1 | tail -c 65536; }

# server_state NAME: its counters, and how its container is; of the one that was started last.
server_state() {
	if is_target "$1"; then
		target_state
		return
	fi
	read_at server counters "$server_pid"
	at server inspect --format 'running {{.State.Running}}
oom_killed {{.State.OOMKilled}}
restarts {{.RestartCount}}' "$project-$1-1"
}
