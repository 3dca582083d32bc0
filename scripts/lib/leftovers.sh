# shellcheck shell=bash
# What a run has with Docker besides its images: taken away at its end, or when it goes on. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/target.sh
source "${BASH_SOURCE[0]%/*}/target.sh"

# remove_run: its containers, volumes and networks.
remove_run() {
	stop_host_loadgen
	[[ -z ${project:-} || ! -s $run_dir/compose.yml ]] ||
		run_compose --profile '*' down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1 || true
}

# remove_left: what no script is there any more to remove: the run's containers, and those in which Python works for it.
remove_left() {
	local left containers
	left=$("$docker" ps --all --quiet --filter "label=com.docker.compose.project=$project") || return
	[[ ! $left ]] || remove_run
	left=$("$docker" ps --all --quiet --filter "label=bench.run=$project") || return
	mapfile -t containers <<<"$left"
	[[ ! $left ]] || "$docker" rm --force "${containers[@]}" >/dev/null 2>&1 || true
}
