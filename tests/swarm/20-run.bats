#!/usr/bin/env bats
# A run on a real swarm (nodes.sh): the nodes that it needs are lost one after the other, and nothing measured is lost or counted
# twice.

bats_require_minimum_version 1.5.0

export NODES_HOME=${NODES_HOME:-/tmp/bench-nodes-test} NODES_SUBNET=${NODES_SUBNET:-198.18.65} NODES_POOL=${NODES_POOL:-198.18.136.0/21}
export BENCH_SUBNET=${BENCH_SUBNET:-198.18.143.0/24}

# Five nodes, of which 1 to 3 are managers; the first one leads, and has no role.
setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	tests/swarm/nodes.sh down
	DOCKER_CONFIG=$(tests/swarm/nodes.sh up 5)
	export DOCKER_CONFIG
	scripts/swarm.sh label bench-node-2 loadgen
	scripts/swarm.sh label bench-node-3 support
	scripts/swarm.sh label bench-node-4 server
	scripts/swarm.sh label bench-node-5 server
}

teardown_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	DOCKER_CONFIG='' tests/swarm/nodes.sh down
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	log=$BATS_TEST_TMPDIR/log
}

node() { docker --context "bench-node-$1" "${@:2}"; }

# until_step: the run has made one.
until_step() {
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		! grep -q '^\[1/' "$log" || return 0
		kill -0 "$matrix" 2>/dev/null || break
		sleep 0.25
	done
	cat "$log"
	return 1
}

# comes_back I: the node, and the swarm knows it.
comes_back() {
	tests/swarm/nodes.sh start "$1"
	until_state "$1" ready
}

# until_state I STATE: so the swarm says of a node.
until_state() {
	local tries
	for ((tries = 0; tries < 120; tries++)); do
		[[ $(node 3 node inspect --format '{{.Status.State}}' "bench-node-$1" 2>/dev/null) != "$2" ]] || return 0
		sleep 0.5
	done
	return 1
}

measure() {
	scripts/matrix.sh "$@" >"$log" 2>&1 3>&- &
	matrix=$!
}

# measured: how many measurements are whole.
measured() { find "results/$run_name/raw" -name meta.json | wc -l; }

# ends_with STATUS: the run.
ends_with() {
	local ended=0
	wait "$matrix" || ended=$?
	cat "$log"
	((ended == $1))
}

@test "load generator, server and the leading manager are cut while it measures: it stops and goes on, each measurement is recorded once" {
	measure --swarm --stack uvicorn-asgi,hypercorn-asgi --scenario json --tool wrk --level 16 --rounds 4 --controls none
	until_step
	run_name=$(sed -n 's|^results/\(2[^/]*\)$|\1|p' "$log")
	grep -q '^nodes: server bench-node-4, load generator bench-node-2, database bench-node-3; ' "$log"
	# Hardened there as here; no container of the run is on any other engine.
	node 4 ps --filter "name=bench-$run_name" --format '{{.Names}}' >"$BATS_TEST_TMPDIR/there"
	grep -q counters-server "$BATS_TEST_TMPDIR/there"
	[[ $(docker --context default ps --quiet --filter "label=com.docker.compose.service=loadgen" --filter "name=bench-$run_name") == '' ]]
	loadgen=$(node 2 ps --quiet --filter label=com.docker.compose.service=loadgen)
	run -0 node 2 inspect --format '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}} {{.HostConfig.CpusetCpus}} {{.HostConfig.PortBindings}}' "$loadgen"
	[[ $output =~ ^'true [ALL] [no-new-privileges:true] '[0-9]+' map[]'$ ]]

	tests/swarm/nodes.sh cut 2
	ends_with 1
	grep -q 'node bench-node-2 (loadgen) is lost: what it was measuring is not recorded' "$log"
	whole=$(measured)
	((whole >= 2))
	comes_back 2

	measure --resume "$run_name"
	until_step
	tests/swarm/nodes.sh cut 4
	ends_with 1
	grep -q 'node bench-node-4 (server) is lost' "$log"
	(($(measured) > whole))
	until_state 4 down

	# Another node serves; then the swarm needs a new leader.
	measure --resume "$run_name"
	until_step
	grep -q '^nodes: server bench-node-5, ' "$log"
	[[ $(node 3 node inspect --format '{{.ManagerStatus.Leader}}' bench-node-1) == true ]]
	tests/swarm/nodes.sh cut 1
	ends_with 0

	ids=$(sed 's/.*"id":"\([^"]*\)".*/\1/' "results/$run_name/records.jsonl")
	[[ $ids == "$(sort -u <<<"$ids")" && $(wc -l <<<"$ids") == $(wc -l <"results/$run_name/plan.jsonl") ]]
	[[ $(grep -c '"outcome":"measured"' "results/$run_name/records.jsonl") == $(wc -l <<<"$ids") ]]
	[[ $(sed 's/.*"node":"\([^"]*\)".*/\1/' "results/$run_name/records.jsonl" | sort -u | xargs) == 'bench-node-4 bench-node-5' ]]
	run -1 grep -q 'was edited\|was removed' "results/$run_name/records.jsonl"
	for i in 2 3 5; do
		[[ $(node "$i" ps --all --quiet --filter "name=bench-$run_name") == '' ]]
		[[ $(node "$i" volume ls --quiet --filter "name=bench-$run_name") == '' ]]
	done
	# The swarm keeps a network until all nodes that were in it have said that they are not; the command was in the run's last words.
	comes_back 1
	comes_back 4
	until_gone
	rm -rf "results/$run_name"
}

# until_gone: the run's network, as its last words say how.
until_gone() {
	local tries left
	for ((tries = 0; tries < 60; tries++)); do
		left=$(node 3 network ls --quiet --filter "name=bench-$run_name")
		[[ $left ]] || return 0
		node 3 network rm "$left" >/dev/null 2>&1 || sleep 0.5
	done
	return 1
}
