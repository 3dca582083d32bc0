# shellcheck shell=bash
# The containers of a block, and where the load generator reads their CPU time. Only declares; containers.sh has what they
# need.

# shellcheck source=scripts/lib/block_states.sh
source "${BASH_SOURCE[0]%/*}/block_states.sh"
# shellcheck source=scripts/lib/cgroups.sh
source "${BASH_SOURCE[0]%/*}/cgroups.sh"
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/freeze.sh
source "${BASH_SOURCE[0]%/*}/freeze.sh"
# shellcheck source=scripts/lib/readers.sh
source "${BASH_SOURCE[0]%/*}/readers.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/target.sh
source "${BASH_SOURCE[0]%/*}/target.sh"

# start_block NAME...: fresh containers of all of them and of the load generator. While they import their modules they may
# use every CPU. Sets block_pid and block_up; fails where none of them starts.
# shellcheck disable=SC2034 # block_pid and block_up are block.sh's
start_block() {
	local log name pid found format='{{index .Config.Labels "com.docker.compose.service"}} {{.State.Pid}}'
	local ours=() targets=()
	for name; do if is_target "$name"; then targets+=("$name"); else ours+=("$name"); fi; done
	block_pid=() block_up=("${ours[@]}")
	log=$(start_log "$1") || return
	if ((${#ours[@]})); then
		describe_block "${ours[@]}" | save "$run_dir/${lane}block.yml" || return
		up_block "$log" "${ours[@]}" loadgen || start_each "${ours[@]}" || ((${#targets[@]})) || return
	fi
	name_containers "${block_up[@]}"
	if ((${#containers[@]})); then
		found=$(at server inspect --format "$format" "${containers[@]}") || return
		while read -r name pid; do block_pid[$name]=$pid; done <<<"$found"
	fi
	list_cgroups "${ours[@]}" | save "$run_dir/${lane}containers.tsv" || return
	[[ ! $several ]] || tell_readers || return
	[[ ! $STEP_HOST_NETWORK ]] || start_host_loadgen "${block_up[@]}" || return
	block_up+=("${targets[@]}")
}

# up_block LOG NAME...
up_block() {
	compose_each --file "$run_dir/${lane}block.yml" "${fresh[@]}" -- "${@:2}" >"$1" 2>&1
}

# start_each NAME...: one after another, since one that cannot start keeps those from it that are started with it. Sets
# block_up.
start_each() {
	local log name
	block_up=()
	log=$(start_log "$1") || return
	up_block "$log" loadgen || return
	for name in "$@"; do
		log=$(start_log "$name") || return
		! up_block "$log" "$name" || block_up+=("$name")
	done
	((${#block_up[@]} > 0))
}

# name_containers NAME...: sets `containers`, of those that are in one.
name_containers() {
	local name
	containers=()
	for name; do is_target "$name" || containers+=("$project-$name-1"); done
}
containers=()

# describe_block NAME...: the Compose file that lets them use every CPU.
describe_block() {
	local name cpus
	cpus=$(read_at server online_cpus) || return
	echo services:
	for name in "$@"; do printf '  %s: {cpuset: "%s"}\n' "$name" "$cpus"; done
}

# list_cgroups NAME...: a line `NAME<tab>FOLDER` for each (and on several machines `<tab>READER`, see readers.sh), and for what all services ask: our database and upstream, and what
# one's own app brings along.
list_cgroups() {
	local name folder found role
	own_services
	for name in "$@" postgres upstream "${found[@]}"; do
		role_of "$name"
		folder=$(read_at "$role" cgroup_below_root "${block_pid[$name]:-${dependency_pid[$name]:-0}}") || return
		printf '%s\t%s%s\n' "$name" "$folder" "${context_of[$role]:+$'\t'${reader_at[$role]:-counters-$role}}"
	done
}

# pin_block NAME...: from now on each uses only the CPUs of the server, where the engine can pin it.
pin_block() {
	! engine_is no-cpuset || return 0
	name_containers "$@"
	((${#containers[@]} == 0)) || at server update --cpuset-cpus "$SERVER_CPUS" "${containers[@]}" >/dev/null
}

stop_block() {
	name_containers "$@"
	((${#containers[@]} == 0)) || at server rm --force --volumes "${containers[@]}" >/dev/null 2>&1 || true
	stop_host_loadgen
}
