# shellcheck shell=bash
# Swarm nodes on one machine (tests/swarm/nodes.sh). Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"

nodes_home=${NODES_HOME:-/tmp/bench-nodes}
nodes_subnet=${NODES_SUBNET:-198.18.64}
nodes_pool=${NODES_POOL:-198.18.128.0/20}
# Names that are unique to this set of nodes, by the third number of its subnet.
nodes_bridge=bench-br${nodes_subnet##*.}
nodes_cgroup=bench-nodes-${nodes_subnet##*.}

# on_node I ARGUMENT...: runs docker on node I.
on_node() { DOCKER_CONFIG=$nodes_home/config "$docker" --context "bench-node-$1" "${@:2}"; }

# nodes_up N PLAIN: starts N nodes and joins them to a swarm, unless PLAIN is set.
nodes_up() {
	local i began=$SECONDS
	[[ ! -e $nodes_home ]] || fail 2 "$nodes_home is there already: tests/swarm/nodes.sh down"
	mkdir -p "$nodes_home/config"
	# If anything fails, remove everything again.
	trap 'nodes_down' EXIT
	ip link add "$nodes_bridge" type bridge
	ip link set "$nodes_bridge" up
	# Bridged packets also pass the host's FORWARD chain, whose policy Docker sets to DROP.
	iptables -I FORWARD -i "$nodes_bridge" -o "$nodes_bridge" -j ACCEPT
	for ((i = 1; i <= $1; i++)); do node_up "$i"; done
	for ((i = 1; i <= $1; i++)); do node_answers "$i"; done
	[[ $2 ]] || nodes_join "$1"
	trap - EXIT
	say "$1 nodes: $((SECONDS - began)) s"
}

# node_up I: starts node I, which may not answer yet.
node_up() {
	node_network "$1"
	node_daemon "$1"
	DOCKER_CONFIG=$nodes_home/config "$docker" context create "bench-node-$1" --docker "host=unix://$nodes_home/$1/docker.sock" >/dev/null
}

# nodes_join N: joins all nodes to one swarm. A lost node is noticed after three heartbeats.
nodes_join() {
	local i role
	on_node 1 swarm init --advertise-addr "$nodes_subnet.1" --default-addr-pool "$nodes_pool" --dispatcher-heartbeat 2s >/dev/null
	for ((i = 2; i <= $1; i++)); do
		((i <= 3 && $1 >= 3)) && role=manager || role=worker
		node_join "$i" "$role"
	done
}

# node_join I ROLE: worker or manager.
node_join() {
	on_node "$1" swarm join --advertise-addr "$nodes_subnet.$1" --token "$(on_node 1 swarm join-token --quiet "$2")" "$nodes_subnet.1:2377" >/dev/null
}

node_netns() { echo "$nodes_cgroup-$1"; }

# node_network I: creates node I's network namespace, with eth0 on the bridge.
node_network() {
	local netns inside=(ip -n "$nodes_cgroup-$1")
	netns=$(node_netns "$1")
	ip netns add "$netns"
	ip link add "$nodes_bridge-$1" type veth peer name eth0 netns "$netns"
	ip link set "$nodes_bridge-$1" master "$nodes_bridge" up
	"${inside[@]}" link set lo up
	"${inside[@]}" link set eth0 up
	"${inside[@]}" address add "$nodes_subnet.$1/24" dev eth0
	"${inside[@]}" route add default via "$nodes_subnet.254"
}

# node_daemon I: starts the daemon in its own namespaces: killing its first process ends all processes and removes all mounts of the
# node. It cannot see this machine's containerd or other daemons' files in /run/docker. (`ip netns exec` would hide the cgroups.)
node_daemon() {
	local own=$nodes_home/$1 netns hidden
	netns=$(node_netns "$1")
	mkdir -p "$own"
	rm -rf "$own/docker.sock" "$own/exec" "$own/dockerd.pid"
	# shellcheck disable=SC2016 # expanded by that shell
	hidden='echo "$1" >/proc/sys/kernel/hostname && mkdir -p /run/containerd /run/docker && mount -t tmpfs tmpfs /run/containerd &&
		mount -t tmpfs tmpfs /run/docker && exec docker-init -- dockerd "${@:2}"'
	setsid nsenter "--net=/run/netns/$netns" unshare --mount --propagation slave --uts --pid --fork --kill-child --mount-proc \
		bash -c "$hidden" - "bench-node-$1" \
		--data-root "$own/data" --exec-root "$own/exec" --pidfile "$own/dockerd.pid" --host "unix://$own/docker.sock" \
		--cgroup-parent "/$nodes_cgroup/$1" --log-level warn >>"$own/log" 2>&1 </dev/null &
	echo $! >"$own/pid"
}

node_answers() {
	local tries
	for ((tries = 0; tries < 300; tries++)); do
		! on_node "$1" version >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	tail -n 5 "$nodes_home/$1/log" >&2
	fail 1 "node $1 does not answer"
}

# node_end I: kills node I with all its processes, like a power failure.
node_end() {
	local pid tries
	pid=$(cat "$nodes_home/$1/pid" 2>/dev/null) || return 0
	# Do not kill another process that has reused the pid.
	grep -qzxF -- "$nodes_home/$1/data" "/proc/$pid/cmdline" 2>/dev/null || return 0
	for ((tries = 0; tries < 100; tries++)); do
		kill -KILL "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	fail 1 "node $1 does not end: process $pid"
}

node_cut() {
	ip link set "$nodes_bridge-$1" down
	node_end "$1"
}

node_start() {
	ip link set "$nodes_bridge-$1" up
	node_daemon "$1"
	node_answers "$1"
}

nodes_down() {
	local i
	for ((i = 1; i <= 5; i++)); do
		[[ ! -d $nodes_home/$i ]] || node_end "$i"
		ip netns delete "$(node_netns "$i")" 2>/dev/null || true
		ip link delete "$nodes_bridge-$i" 2>/dev/null || true
	done
	ip link delete "$nodes_bridge" 2>/dev/null || true
	while iptables -D FORWARD -i "$nodes_bridge" -o "$nodes_bridge" -j ACCEPT 2>/dev/null; do :; done
	find /sys/fs/cgroup -depth -type d -path "*/$nodes_cgroup*" -exec rmdir {} + 2>/dev/null || true
	rm -rf "$nodes_home"
}
