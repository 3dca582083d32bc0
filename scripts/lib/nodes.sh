# shellcheck shell=bash
# The nodes of a swarm and the Docker contexts of their engines. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"

# `facts`: the folder that bench/swarm/facts.py reads; `manager`: the context of a manager that answers.
facts='' manager=''
# shellcheck disable=SC2034 # registry.sh uses it
stack=bench

# open_facts: a new folder for them, where the tools' container sees it.
open_facts() {
	mkdir -p "$root/results"
	facts=$(mktemp -d -p "$root/results" .swarm-XXXXXX)
}

# swarm_verb VERB ARGUMENT...: on the facts.
swarm_verb() { in_tools python3 -m bench "$1" "results/${facts##*/}" "${@:2}"; }

# read_swarm: the nodes, and which context reaches the engine of each.
read_swarm() {
	local contexts context
	contexts=$("$docker" context ls --format '{{.Name}}')
	for context in $contexts; do ask_engine "$context" & done
	wait
	cat "$facts"/engine-* 2>/dev/null | sort | sort -u -k1,1 >"$facts/engines" || true
	cut -d' ' -f1,2 "$facts/engines" >"$facts/contexts"
	while read -r _ context _; do
		manager=$context
		if list_nodes; then return; fi
	done < <(grep ' true$' "$facts/engines")
	fail 1 "no Docker context reaches a manager of a swarm that answers: docker context create NAME --docker host=ssh://NODE (docs/several-machines.md)"
}

# ask_engine CONTEXT: `NODE_ID CONTEXT MANAGER` of an engine that is in a swarm; nothing of one that does not answer.
ask_engine() {
	local id control
	read -r id control < <(timeout 10 "$docker" --context "$1" info --format '{{.Swarm.NodeID}} {{.Swarm.ControlAvailable}}' 2>/dev/null) || return 0
	[[ ! $control ]] || echo "$id $1 $control" >"$facts/engine-$1"
}

list_nodes() {
	local ids
	mapfile -t ids < <(timeout 20 "$docker" --context "$manager" node ls --quiet 2>/dev/null)
	((${#ids[@]})) && on "$manager" node inspect "${ids[@]}" >"$facts/nodes.json" 2>/dev/null
}

# label_node NODE LABEL: an empty one is taken away.
label_node() {
	local change=(--label-add "bench.role=$2")
	[[ $2 ]] || change=(--label-rm bench.role)
	on "$manager" node update "${change[@]}" "$1" >/dev/null || fail 2 "node $1 is not labelled: the words above are Docker's"
	say "$1: ${2:-no role}"
}

# remove_network NAME: once no node has a container in it.
remove_network() {
	local tries
	for ((tries = 0; tries < 30; tries++)); do
		! on "$manager" network rm "$1" >/dev/null 2>&1 || return 0
		sleep 0.3
	done
	warn "network $1 is not removed"
}

# nodes_with [ROLE]: `NODE CONTEXT ADDRESS` of each node that can be used and has this role, or any.
nodes_with() {
	list_roles
	awk -v role="${1:-}" '(role == "" || $1 == role) && !seen[$2]++ { print $2, $3, $4 }' "$facts/roles"
}

list_roles() { [[ -e $facts/roles ]] || swarm_verb swarm-roles | save "$facts/roles"; }
