# shellcheck shell=bash
# What a run has left on the nodes of a swarm, and its removal through a manager that answers. Only declares; needs run.sh.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

manager=''

# find_manager: sets `manager` to the context of one that answers, within a minute: when the leader is lost, the others take
# their time to agree on a new one.
find_manager() {
	local contexts context tries
	contexts=$("$docker" context ls --format '{{.Name}}') || return
	for ((tries = 0; tries < 20; tries++)); do
		for context in $contexts; do
			manager=$context
			! timeout 5 "$docker" --context "$context" node ls --quiet >/dev/null 2>&1 || return 0
		done
		sleep 3
	done
	warn "no manager of the swarm answers"
	return 1
}

# contexts_ever: those that the run has had containers on.
contexts_ever() { cut -f3 "$run_dir/${lane}nodes-ever.tsv" | sort -u; }

# remove_from_nodes: of those that answer.
remove_from_nodes() {
	local contexts context kind ids tries reached kinds=(container volume)
	contexts=$(contexts_ever) || return
	[[ $several == swarm ]] || kinds+=(network)
	for context in $contexts; do
		reach "$context"
		for kind in "${kinds[@]}"; do
			ids=$(list_on "$context" "$kind") || continue
			[[ ! $ids ]] || xargs timeout 60 "$docker" "${reached[@]}" "$kind" rm --force <<<"$ids" >/dev/null 2>&1 || true
		done
	done
	[[ $several == swarm ]] || return 0
	find_manager || return 0
	for ((tries = 0; tries < 30; tries++)); do
		ids=$(timeout 20 "$docker" --context "$manager" network ls --quiet --filter "label=com.docker.compose.project=$project") || return 0
		[[ $ids ]] || return 0
		xargs "$docker" --context "$manager" network rm <<<"$ids" >/dev/null 2>&1 || sleep 0.3
	done
	warn "the swarm still counts a lost node as using the network of $run: --resume takes it again; once the node is back, docker --context $manager network rm $project removes it"
}

list_on() {
	local all=() reached
	reach "$1"
	[[ $2 != container ]] || all=(--all)
	timeout 20 "$docker" "${reached[@]}" "$2" ls "${all[@]}" --quiet --filter "label=com.docker.compose.project=$project" 2>/dev/null
}
