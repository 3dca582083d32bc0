# shellcheck shell=bash
# Which machine has which role in a run on several. Only declares; several.sh sources it.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/lanes.sh
source "${BASH_SOURCE[0]%/*}/lanes.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

roles=(server loadgen support)

# several_refuses WORD...: what is tied to this machine.
several_refuses() {
	local word
	for word; do
		case $word in
		--app | --app=* | --target | --target=* | --profile)
			fail 2 "${word%%=*} measures on this machine alone: leave it out where the run is on several"
			;;
		esac
	done
}

# choose_nodes: one for each role, of those that can be used now; a run that goes on may get others than it began with.
choose_nodes() {
	local found
	found=$("$root/scripts/swarm.sh" roles)
	in_tools python3 -m bench several-nodes "results/$run/nodes-ever.tsv" "$LOADGENS" <<<"$found" | save "$run_dir/nodes.tsv"
	cat "$run_dir/nodes.tsv" >>"$run_dir/nodes-ever.tsv"
	open_nodes
	say "nodes: server ${node_of[server]}, load generator ${node_of[loadgen]}$(other_loadgens), database ${node_of[support]}; overlay network, not encrypted"
	((LOADGENS > 1)) || choose_lanes "$found"
	[[ $resume || ! -s $root/results/$network_cost_file ]] || save "$run_dir/$network_cost_file" <"$root/results/$network_cost_file"
}

other_loadgens() {
	local number
	for ((number = 2; number <= LOADGENS; number++)); do printf ', %s' "${node_of["loadgen-$number"]}"; done
}

# open_nodes: as they were chosen; nothing in a run on this machine.
open_nodes() {
	local role node context name address
	[[ -s $run_dir/${lane}nodes.tsv ]] || return 0
	while IFS=$'\t' read -r role node context _; do
		context_of[$role]=$context node_of[$role]=$node
		[[ " ${roles[*]} " == *" $role "* ]] || roles+=("$role")
	done <"$run_dir/${lane}nodes.tsv"
	several=swarm
	[[ -s $run_dir/addresses.tsv ]] || return 0
	while IFS=$'\t' read -r name address; do
		# shellcheck disable=SC2034 # ready.sh uses it
		if [[ $name == counters-* ]]; then reader_at[${name#counters-}]=$address; else address_of[$name]=$address; fi
	done <"$run_dir/addresses.tsv"
	several=contexts
}
