# shellcheck shell=bash
# How the containers of a block are, and their counters. Only declares; containers.sh has what they need.

# shellcheck source=scripts/lib/readers.sh
source "${BASH_SOURCE[0]%/*}/readers.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# look_at_block NAME...: one look of Docker for all of them, as each costs 30 ms. Sets block_state, what server_state says
# besides counters, and block_ended.
# shellcheck disable=SC2034,SC2154 # block_ended is block.sh's; many.sh sets containers
look_at_block() {
	local name running killed restarts found=''
	local format='{{index .Config.Labels "com.docker.compose.service"}} {{.State.Running}} {{.State.OOMKilled}} {{.RestartCount}}'
	block_state=() block_ended=()
	name_containers "$@"
	((${#containers[@]} == 0)) || found=$(look_at server "$format" "${containers[@]}")
	while read -r name running killed restarts; do
		[[ ! $name ]] || block_state[$name]=$(printf 'running %s\noom_killed %s\nrestarts %s' "$running" "$killed" "$restarts")
	done <<<"$found"
	for name; do is_target "$name" || [[ ${block_state[$name]:-} == 'running true'* ]] || block_ended+=("$name"); done
}

# save_block_states WHEN FOLDER NAME...: as server_state, of all of them, in FOLDER/NAME.WHEN.
save_block_states() {
	local name
	look_at_block "${@:3}"
	for name in "${@:3}"; do
		if is_target "$name"; then
			target_state
		else
			read_at server counters "${block_pid[$name]:-0}"
			printf '%s\n' "${block_state[$name]:-}"
		fi | save "$2/$name.$1"
	done
}
