# shellcheck shell=bash
# What the lanes of a run have left on the nodes of a swarm. Only declares.

# shellcheck source=scripts/lib/several_left.sh
source "${BASH_SOURCE[0]%/*}/several_left.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# name_lane N: sets `lane` and `project`.
# shellcheck disable=SC2034 # files are named by lane
name_lane() {
	(($1 > 1)) || return 0
	lane=lanes/$1/ project=$project-lane$1
}

# remove_lanes: of those that any call of the run had; the first one is removed as the run itself.
remove_lanes() {
	local folder pids=()
	for folder in "$run_dir"/lanes/*; do
		[[ ! -s $folder/nodes-ever.tsv ]] || {
			remove_lane "${folder##*/}" &
			pids+=($!)
		}
	done
	((${#pids[@]} == 0)) || wait "${pids[@]}" || true # what was left is said
}

remove_lane() {
	name_lane "$1"
	remove_from_nodes
}
