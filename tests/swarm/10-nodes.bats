#!/usr/bin/env bats
# Nodes, labels, checks, the registry and the stack on a real swarm of three nodes (nodes.sh).

load on_nodes

setup_file() { start_nodes 3; }

teardown_file() {
	cd "$project" || return
	DOCKER_CONFIG='' tests/swarm/nodes.sh down
	# Nothing is left: folder, mounts, networks, firewall rule, cgroups. bats calls this in a list, where `set -e` is off.
	[[ ! -e $NODES_HOME ]] || return 1
	! grep -rqsF "$NODES_HOME" /proc/self/mounts || return 1
	[[ $(ip netns list) != *bench-nodes-${NODES_SUBNET##*.}-* ]] || return 1
	! ip link show "bench-br${NODES_SUBNET##*.}" || return 1
	[[ $(iptables -S FORWARD) != *bench-br${NODES_SUBNET##*.}* ]] || return 1
	[[ -z $(find /sys/fs/cgroup -type d -name "bench-nodes-${NODES_SUBNET##*.}*") ]]
}

# base_on_node_3 IMAGE: describes the base of an image on node 3; the image itself stands for its base.
base_on_node_3() {
	printf '#!/usr/bin/env bash\nexec docker --context bench-node-3 "$@"\n' >"$BATS_TEST_TMPDIR/node-3"
	chmod +x "$BATS_TEST_TMPDIR/node-3"
	BENCH_DOCKER=$BATS_TEST_TMPDIR/node-3 python3 -c 'import sys; from driver.engines.provenance import describe_base; print(describe_base(*sys.argv[1:]), end="")' "$1" "$1"
}

@test "a swarm without roles is refused, and roles can be assigned" {
	run -1 scripts/swarm.sh check
	[[ $output == *"stop: server: no node has this role"* && $output == *"stop: loadgen"* && $output == *"stop: support"* ]]
	scripts/swarm.sh label bench-node-1 loadgen support
	scripts/swarm.sh label bench-node-2 loadgen
	scripts/swarm.sh label bench-node-3 server
	run -0 scripts/swarm.sh roles
	[[ ${#lines[@]} == 4 && $output == *"server bench-node-3 bench-node-3 $NODES_SUBNET.3 "* && $output == *"support bench-node-1 "* ]]
}

@test "check measures clocks, ports and the link; a closed port and a lost node stop a run" {
	run -0 scripts/swarm.sh check --seconds 1
	echo "$output"
	[[ $output == *"ok: ports: 2377/tcp, 7946/tcp reached"* ]]
	[[ $output =~ "ok: bench-node-1 to bench-node-3: "[0-9.]+" Gbit/s, 0."[0-9]+" ms" || $output == *"the network may limit"* ]]
	[[ $(grep -c 'clock .* ms from' <<<"$output") == 3 ]]
	netns=bench-nodes-${NODES_SUBNET##*.}-3
	ip netns exec "$netns" iptables -I INPUT -i eth0 -p udp --dport 4789 -j DROP
	ip netns exec "$netns" iptables -I INPUT -i eth0 -s "$NODES_SUBNET.1" -p tcp --dport 7946 -j REJECT
	run -1 scripts/swarm.sh check --seconds 1
	ip netns exec "$netns" iptables -D INPUT -i eth0 -s "$NODES_SUBNET.1" -p tcp --dport 7946 -j REJECT
	ip netns exec "$netns" iptables -D INPUT -i eth0 -p udp --dport 4789 -j DROP
	echo "$output"
	[[ $output == *"stop: bench-node-1: cannot reach bench-node-3 at 7946/tcp"* ]]
	[[ $output == *"stop: bench-node-1 to bench-node-3: the overlay network is blocked"* ]]
	[[ $(node 1 network ls --filter name=bench-check --quiet) == '' ]]
}

@test "every node gets images by digest through the swarm's own registry, which listens only on loopback" {
	scripts/swarm.sh up upstream
	scripts/swarm.sh send bench/upstream
	here=$(docker image inspect --format '{{.Id}}' bench/upstream)
	for i in 1 2 3; do
		[[ $(node "$i" image inspect --format '{{.Id}}' bench/upstream) == "$here" ]]
		[[ $(node "$i" image inspect --format '{{.RepoDigests}}' bench/upstream) == *127.0.0.1:5000/bench/upstream@sha256:* ]]
		[[ $(node "$i" inspect --format '{{range .NetworkSettings.Ports}}{{range .}}{{.HostIp}} {{end}}{{end}}' bench-relay) == '127.0.0.1 ' ]]
	done
	run -0 node 1 service inspect bench_registry --format '{{.Spec.EndpointSpec.Mode}} {{.Spec.TaskTemplate.Placement.Constraints}} {{.Endpoint.Ports}}'
	[[ $output == 'dnsrr [node.labels.bench.role == loadgen+support] []' ]]
	# A run records the digest that the registry gave to a base image.
	run -0 base_on_node_3 bench/upstream
	[[ $output =~ ^'{"name": "bench/upstream", "id": "'"$here"'", "repo_digests": ["127.0.0.1:5000/bench/upstream@sha256:'[0-9a-f]{64}'"]}'$ ]]
	# A run's network is internal, and the registry is not in it.
	[[ $(node 1 network inspect bench_bench --format '{{.Internal}} {{.Attachable}} {{.Driver}} {{.Options}}') == 'true true overlay '* ]]
	[[ $(node 1 network inspect bench_bench --format '{{.Options}}') != *encrypted* ]]
	# After joining a network, a node learns the names in it with some delay.
	# shellcheck disable=SC2016 # expanded on the node
	run -0 node 3 run --rm --network bench_bench bench/registry bash -c 'reached() { timeout 3 bash -c "</dev/tcp/$1" 2>/dev/null; }
		for ((i = 0; i < 20; i++)); do ! reached upstream/8080 || break; sleep 1; done
		for at in upstream/8080 registry/5000; do reached "$at" && echo "$at reached" || echo "$at not"; done'
	echo "$output"
	[[ $output == $'upstream/8080 reached\nregistry/5000 not' ]]
}

@test "a base is pulled by its locked digest, even after its tag has moved" {
	copy=$BATS_TEST_TMPDIR/project name=127.0.0.1:5000/python:3.13-slim
	mkdir "$copy"
	cp -r driver scripts services .env "$copy"
	rm -f "$copy/services/.env"
	export PYTHON_IMAGE=127.0.0.1:5000/python PYPY_IMAGE=127.0.0.1:5000/pypy DEBIAN_IMAGE=127.0.0.1:5000/debian:trixie-slim
	# Not the daemon but the client asks the registry, so it must run in the registry's network.
	export BENCH_DOCKER=$BATS_TEST_TMPDIR/docker
	printf '#!/usr/bin/env bash\nexec ip netns exec %s docker --context bench-node-3 "$@"\n' "bench-nodes-${NODES_SUBNET##*.}-3" >"$BENCH_DOCKER"
	chmod +x "$BENCH_DOCKER"
	node 3 tag bench/upstream "$name"
	node 3 push --quiet "$name"
	run -3 "$copy/scripts/lock.sh" --bases
	[[ $output == *'no registry gives a digest of 127.0.0.1:5000/debian:trixie-slim'* && $output != *" $name"* ]]
	node 3 tag bench/registry "$name"
	node 3 push --quiet "$name"
	node 3 image rm "$name"
	# shellcheck source=scripts/lib/bases.sh
	source "$copy/scripts/lib/bases.sh"
	find_docker
	pull_base "$name"
	[[ $(node 3 image inspect --format '{{.Id}}' "$name") == $(node 3 image inspect --format '{{.Id}}' bench/upstream) ]]
	run -0 --separate-stderr name_other_bases "$name"
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output$stderr ]]
	node 3 tag bench/registry "$name"
	run -0 name_other_bases "$name"
	[[ $output == "base image $name is not the one in services/locks/bases.tsv"* ]]
	node 3 image rm "$name"
}

@test "a lost node is noticed and comes back; at the end nothing is left of the registry" {
	tests/swarm/nodes.sh cut 3
	until_state 1 3 down
	run -1 scripts/swarm.sh check --seconds 1
	[[ $output == *"stop: server: no node with this role can be used now (bench-node-3)"* ]]
	tests/swarm/nodes.sh start 3
	until_state 1 3 ready
	scripts/swarm.sh down
	for i in 1 2 3; do [[ $(node "$i" ps --all --quiet --filter name=bench-relay) == '' ]]; done
	node 1 service ls && node 1 network ls
	[[ $(node 1 service ls --quiet) == '' && $(node 1 network ls --quiet --filter name=bench_) == '' ]]
}
