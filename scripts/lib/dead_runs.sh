# shellcheck shell=bash
# Runs that ended without taking their containers and networks away. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

# remove_dead_runs: what a reboot, a killed daemon or a kill of all of a run's processes leaves, and `docker-compose up bench` at its
# end: runs that nobody measures, or none of whose containers is up any more. Their network keeps the subnet. One made within
# the last ten seconds may belong to a run that is just starting.
remove_dead_runs() {
	local key=com.docker.compose.project networks name made up now
	networks=$("$docker" network ls --filter label=com.docker.compose.network=bench --format "{{.Label \"$key\"}}\t{{.CreatedAt}}") || return
	while IFS=$'\t' read -r name made; do
		[[ $name == bench* ]] || continue
		# Only what Compose started: any other container has the labels of its image, and Compose built some of those.
		up=$("$docker" ps --quiet --filter "label=$key=$name" --filter "label=$key.working_dir") || return
		made=$(date --date="${made% *}" +%s) now=$(date +%s) || return
		# One of the future was made before the clock was set back.
		if ((made >= now - 10 && made <= now + 10)); then continue; fi
		[[ ! $up ]] || is_abandoned "$up" || continue
		say "removing what is left of $name, which nobody measures any more"
		"$docker" compose --project-name "$name" down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1 || return
	done <<<"$networks"
}

# is_abandoned CONTAINERS: whether nobody measures the run that they are of: nobody holds its writer's lock, or its folder was removed.
is_abandoned() {
	local folder
	folder=$("$docker" inspect --format '{{index .Config.Labels "com.docker.compose.project.working_dir"}}' "${1%%$'\n'*}") || return
	[[ ! $folder || ! -d ${folder%/*} || -e $folder ]] || return 0
	[[ $folder ]] || return
	if [[ -f $folder/services/matrix.toml ]]; then bench_has_ended "$folder"; else [[ -e $folder/.writer ]] && flock --nonblock "$folder/.writer" true; fi
}

# bench_has_ended FOLDER: whether `docker-compose up bench` in this clone has, which leaves its services up.
bench_has_ended() {
	local states
	states=$("$docker" ps --all --format '{{.State}}' --filter label=com.docker.compose.service=bench --filter "label=com.docker.compose.project.working_dir=$1") || return
	[[ $states == exited ]]
}
