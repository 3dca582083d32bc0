# shellcheck shell=bash
# What a run has with Docker besides its images: taken away at its end, or when it goes on. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/several_left.sh
source "${BASH_SOURCE[0]%/*}/several_left.sh"
# shellcheck source=scripts/lib/lanes_left.sh
source "${BASH_SOURCE[0]%/*}/lanes_left.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/target.sh
source "${BASH_SOURCE[0]%/*}/target.sh"

# Images with a package that was built from a source, which only this run has a use for (services.sh).
SOURCE_IMAGES=()

# remove_run: its containers, volumes, networks and images of its own. Compose leaves a network that is still in use, and says so with status 0: what the
# engine was still starting for a client that was killed has appeared by the next try.
remove_run() {
	local left try words
	stop_host_loadgen
	[[ ${project:-} && -s $run_dir/compose.yml ]] || return 0
	if [[ $several ]]; then
		remove_lanes
		remove_from_nodes
	fi
	for try in 1 2 3 4 5; do
		((try == 1)) || sleep 0.5
		words=$(run_compose --profile '*' down --timeout 0 --volumes --remove-orphans 2>&1) || true
		left=$(left_of_run) || return 0
		[[ $left ]] || break
	done
	((${#SOURCE_IMAGES[@]} == 0)) || "$docker" image rm "${SOURCE_IMAGES[@]}" >/dev/null 2>&1 || true
	[[ $left ]] || return 0
	warn "$run: some of its containers and networks are left: $(tail -c 300 <<<"$words" | tr -s '\n ' ' ')" || true
}

# left_of_run: the ids of its containers and networks.
left_of_run() {
	"$docker" ps --all --quiet --filter "label=com.docker.compose.project=$project" || return
	"$docker" network ls --quiet --filter "label=com.docker.compose.project=$project"
}

# remove_left: what no script is there any more to remove: all of this, and the containers in which Python works for the run.
remove_left() {
	local left containers
	left=$(left_of_run) || return
	[[ ! $left$several ]] || remove_run
	left=$("$docker" ps --all --quiet --filter "label=bench.run=$project") || return
	mapfile -t containers <<<"$left"
	[[ ! $left ]] || "$docker" rm --force "${containers[@]}" >/dev/null 2>&1 || true
}
