# shellcheck shell=bash
# What scripts/swarm.sh check finds out, into the files that bench/swarm/facts.py reads. Only declares.

# shellcheck source=scripts/lib/node_images.sh
source "${BASH_SOURCE[0]%/*}/node_images.sh"

# check_nodes SECONDS: of a link's measurement.
check_nodes() {
	local nodes node context image
	nodes=$(nodes_with)
	for image in "${harness[@]/#/bench/}"; do "$docker" image inspect --format "$image {{.Id}}" "$image" >>"$facts/wanted"; done
	if [[ $nodes ]]; then
		compose --profile swarm build --quiet registry >/dev/null
		while read -r node context _; do
			read_clock "$node" "$context"
			on "$context" image ls --no-trunc --quiet | sed "s/^/$node /" >>"$facts/images"
		done <<<"$nodes"
		copy_to_nodes "$nodes" bench/registry
		while read -r node context _; do spawn 8 try_ports "$node" "$context" "$nodes"; done <<<"$nodes"
		await_spawned
		measure_links "$1"
	fi
	swarm_verb swarm-check || exit
}

# read_clock NODE CONTEXT: what its engine says its time is, and between which moments of this machine; a few times, as what
# is said most quickly is known best.
read_clock() {
	local before time
	for _ in 1 2 3; do
		before=$EPOCHREALTIME
		time=$(on "$2" info --format '{{.SystemTime}}')
		echo "$1 $before $time $EPOCHREALTIME" >>"$facts/clocks"
	done
}

# node_tool CONTEXT ARGUMENT...: a container of the tools' image for nodes, with the rights of the others.
node_tool() { on "$1" run --rm "${confined[@]}" --init "${@:2}"; }

# try_ports NODE CONTEXT NODES: whether it reaches each other one where the swarm's nodes have to.
try_ports() {
	local other context address script
	# shellcheck disable=SC2016 # for the shell there
	script='
		while read -r other address port; do
			if timeout 3 bash -c "</dev/tcp/$address/$port" 2>/dev/null; then state=open; else state=closed; fi
			echo "$0 $other $port $state"
		done'
	while read -r other context address; do
		[[ $other != "$1" ]] || continue
		echo "$other $address 7946"
		[[ $(on "$context" info --format '{{.Swarm.ControlAvailable}}') != true ]] || echo "$other $address 2377"
	done <<<"$3" | node_tool "$2" --interactive --network host bench/registry bash -c "$script" "$1" >>"$facts/ports"
}

# measure_links SECONDS: each server with one of the load generators, one pair after the other.
measure_links() {
	local found servers loadgens network=bench-check-$$ i server
	found=$(nodes_with server)
	mapfile -t servers <<<"$found"
	found=$(nodes_with loadgen)
	mapfile -t loadgens <<<"$found"
	[[ ${servers[0]} && ${loadgens[0]} ]] || return 0
	on "$manager" network create --driver overlay --attachable --internal "$network" >/dev/null
	for i in "${!servers[@]}"; do
		read -r server _ <<<"${servers[i]}"
		measure_link "$1" "$network" "${loadgens[i % ${#loadgens[@]}]}" "${servers[i]}" || say "$server: no link is measured"
	done
	remove_network "$network"
}

# measure_link SECONDS NETWORK LOADGEN SERVER: round trips first, and then as much as passes.
measure_link() {
	local of from to at name=$2-server
	read -r of from _ <<<"$3"
	read -r to at _ <<<"$4"
	echo "$of $to" >>"$facts/links"
	node_tool "$at" --detach --name "$name" --network "$2" --tmpfs /tmp bench/registry iperf3 --server --one-off >/dev/null || return
	if node_tool "$from" --network "$2" bench/registry ping -q -c 50 -i 0.02 -W 1 "$name" >"$facts/ping-$of-$to.txt" 2>&1; then
		node_tool "$from" --network "$2" --tmpfs /tmp bench/registry iperf3 --json --connect-timeout 3000 --time "$1" --client "$name" \
			>"$facts/iperf-$of-$to.json" 2>&1 || true
	fi
	on "$at" rm --force "$name" >/dev/null 2>&1 || true
}
