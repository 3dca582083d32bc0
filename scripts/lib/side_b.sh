# shellcheck shell=bash
# Both containers of a pair, and the Compose file of side b. Only declares; containers.sh has what they need.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# start_pair A B: fresh containers of both and of the load generator. Sets side_pid, side_image and side_address.
# shellcheck disable=SC2034 # they are pair.sh's
start_pair() {
	local log
	side_pid=() side_image=() side_address=()
	log=$(start_log "$1") || return
	describe_side_b "$1" "$2" | save "$run_dir/side_b.yml" || return
	run_compose --file "$run_dir/side_b.yml" up --detach --no-deps --no-build --force-recreate --timeout 0 "$1" side-b loadgen >"$log" 2>&1 || return
	inspect_side a "$1" && inspect_side b side-b
}

# inspect_side SIDE NAME
inspect_side() {
	local found format='{{.State.Pid}} {{.Image}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
	found=$("$docker" inspect --format "$format" "$project-$2-1") || return
	read -r "side_pid[$1]" "side_image[$1]" "side_address[$1]" <<<"$found"
}

stop_pair() {
	stop_service "$1"
	stop_service side-b
}

# describe_side_b A B: the Compose file of B's container. For the side that asks the second database, that one is `postgres`.
describe_side_b() {
	local hosts="    extra_hosts: ['postgres:${dependency_address[postgres2]:-}']"
	printf '%s\n' services: '  side-b:' "    extends: {file: compose.yml, service: $2}"
	[[ ${STEP_DATABASES[1]} != postgres2 ]] || printf '%s\n' "$hosts"
	[[ ${STEP_DATABASES[0]} != postgres2 ]] || printf '%s\n' "  $1:" "$hosts"
}
