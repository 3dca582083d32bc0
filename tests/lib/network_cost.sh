# shellcheck shell=bash
# The null server through three kinds of network, for scripts/harness-cost.sh --network. Only declares; the caller sets
# `work`, a folder.

# shellcheck source=scripts/lib/node_checks.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/node_checks.sh"

work='' name=bench-network-$$ server_cpus='' loadgen_cpus=''
between=''
network_rounds=24 network_seconds=1 network_port=18080

# network_costs: on the nodes of this user's swarm.
network_costs() {
	work=$(mktemp -d -p "$root/results" .cost-XXXXXX)
	open_facts
	trap 'stop_networks; rm -rf "$work" "$facts"' EXIT
	read_swarm
	measure_networks
	in_tools python3 -m tests.cost network "results/${work##*/}/networks" >"$work/said" || exit
	cat "$work/said"
	# Later runs take it into their reports.
	{ date -u "+%F, from $between" && cat "$work/said"; } | save "$root/results/$network_cost_file"
}

# measure_networks: wrk's output for each round and network, round.network.txt in $work/networks. All servers and load generators
# are up from the beginning, and wait while another pair has its turn. Each round begins with another network.
measure_networks() {
	local found server loadgen at from address round i network urls kinds=(bridge overlay host)
	found=$(nodes_with server)
	read -r server at address <<<"$found"
	found=$(nodes_with loadgen)
	read -r loadgen from _ <<<"$found"
	[[ $server && $loadgen ]] || fail 2 "a node for the server and one for the load generator are needed: scripts/swarm.sh check"
	between="$loadgen to $server"
	say "server on $server, load generator on $loadgen; bridge: both on $server"
	copy_image "$at" bench/upstream bench/loadgen
	copy_image "$from" bench/loadgen
	server_cpus=$(setting SERVER_CPUS)
	loadgen_cpus=$(setting LOADGEN_CPUS)
	server_cpus=${server_cpus:-0} loadgen_cpus=${loadgen_cpus:-1}
	mkdir "$work/networks"
	start_networks "$at" "$from" "$address"
	local -A place=([bridge]=$at [overlay]=$from [host]=$from)
	urls=("http://$name-bridge:8080/json" "http://$name-overlay:8080/json" "http://$address:$network_port/json")
	for ((round = 0; round < network_rounds; round++)); do
		for i in 0 1 2; do
			((network = (i + round) % 3)) || true
			on "${place[${kinds[network]}]}" exec "$name-${kinds[network]}-loadgen" wrk --threads 1 --connections 16 --duration "$network_seconds" --latency \
				"${urls[network]}" >"$work/networks/$round.${kinds[network]}.txt"
		done
	done
}

# start_networks SERVER_CONTEXT LOADGEN_CONTEXT ADDRESS: in the host's network the server listens at the node's own address alone.
start_networks() {
	# shellcheck disable=SC2016 # for the shell there
	local null='sed "s/listen 8080/listen $0/" /etc/nginx/null.conf >/tmp/null.conf && exec nginx -e /dev/stderr -c /tmp/null.conf -g "daemon off;"'
	on "$1" network create --internal "$name-bridge" >/dev/null
	on "$manager" network create --driver overlay --attachable --internal "$name-overlay" >/dev/null
	network_part "$1" bridge "$name-bridge" "$server_cpus" bench/upstream sh -c "$null" 8080
	network_part "$1" overlay "$name-overlay" "$server_cpus" bench/upstream sh -c "$null" 8080
	network_part "$1" host host "$server_cpus" bench/upstream sh -c "$null" "$3:$network_port"
	network_part "$1" bridge-loadgen "$name-bridge" "$loadgen_cpus" bench/loadgen sleep infinity
	network_part "$2" overlay-loadgen "$name-overlay" "$loadgen_cpus" bench/loadgen sleep infinity
	network_part "$2" host-loadgen host "$loadgen_cpus" bench/loadgen sleep infinity
}

# network_part CONTEXT NAME NETWORK CPUS ARGUMENT...
network_part() {
	on "$1" run --detach --name "$name-$2" --network "$3" --cpuset-cpus "$4" --init "${confined[@]}" --tmpfs /tmp:mode=1777 --memory 512m "${@:5}" >/dev/null
}

# stop_networks: on every node, whatever was started.
stop_networks() {
	local context left
	while read -r _ context _; do
		left=$(on "$context" ps --all --quiet --filter "name=$name-" 2>/dev/null) || continue
		[[ ! $left ]] || xargs "$docker" --context "$context" rm --force <<<"$left" >/dev/null || true
		on "$context" network rm "$name-bridge" >/dev/null 2>&1 || true
	done <"$facts/engines"
	remove_network "$name-overlay"
}
