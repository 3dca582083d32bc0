#!/usr/bin/env bats
# A run on a real swarm (nodes.sh): the nodes that it needs are lost one after the other, and nothing measured is lost or counted
# twice.

bats_require_minimum_version 1.5.0

export NODES_HOME=${NODES_HOME:-/tmp/bench-nodes-test} NODES_SUBNET=${NODES_SUBNET:-198.18.65} NODES_POOL=${NODES_POOL:-198.18.136.0/21}
export BENCH_SUBNET=${BENCH_SUBNET:-198.18.143.0/24}

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	tests/swarm/nodes.sh down
	DOCKER_CONFIG=$(tests/swarm/nodes.sh up 4)
	export DOCKER_CONFIG
	scripts/swarm.sh label bench-node-1 support
	scripts/swarm.sh label bench-node-2 loadgen
	scripts/swarm.sh label bench-node-3 server
	scripts/swarm.sh label bench-node-4 server
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

# until_step N: the run has made N steps.
until_step() {
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		! grep -q "^\[$1/" "$log" || return 0
		kill -0 "$matrix" 2>/dev/null || break
		sleep 0.25
	done
	cat "$log"
	return 1
}

# comes_back I: the node, and the swarm knows it.
comes_back() {
	local tries
	tests/swarm/nodes.sh start "$1"
	for ((tries = 0; tries < 120; tries++)); do
		[[ $(node 1 node inspect --format '{{.Status.State}}' "bench-node-$1" 2>/dev/null) != ready ]] || return 0
		sleep 0.5
	done
	return 1
}

# is_missed I
is_missed() {
	local tries
	for ((tries = 0; tries < 120; tries++)); do
		[[ $(node 1 node inspect --format '{{.Status.State}}' "bench-node-$1" 2>/dev/null) != down ]] || return 0
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

@test "load generator, server and manager are cut while it measures: it stops and goes on, each measurement is recorded once" {
	measure --swarm --stack uvicorn-asgi,hypercorn-asgi --scenario json --tool wrk --level 16 --rounds 6 --duration 2
	until_step 1
	run_name=$(sed -n 's|^results/\(2[^/]*\)$|\1|p' "$log")
	grep -q '^nodes: server bench-node-3, load generator bench-node-2, database bench-node-1; ' "$log"
	# Hardened there as here; no container of the run is on any other engine.
	node 3 ps --filter "name=bench-$run_name" --format '{{.Names}}' >"$BATS_TEST_TMPDIR/there"
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
	until_step 2 || until_step 3
	tests/swarm/nodes.sh cut 3
	ends_with 1
	grep -q 'node bench-node-3 (server) is lost' "$log"
	(($(measured) > whole))
	is_missed 3

	measure --resume "$run_name"
	until_step 4 || until_step 5
	grep -q '^nodes: server bench-node-4, ' "$log"
	comes_back 3
	scripts/swarm.sh label bench-node-3
	tests/swarm/nodes.sh cut 3
	ends_with 0

	ids=$(sed 's/.*"id":"\([^"]*\)".*/\1/' "results/$run_name/records.jsonl")
	[[ $ids == "$(sort -u <<<"$ids")" && $(wc -l <<<"$ids") == $(wc -l <"results/$run_name/plan.jsonl") ]]
	[[ $(grep -c '"outcome":"measured"' "results/$run_name/records.jsonl") == $(wc -l <<<"$ids") ]]
	[[ $(sed 's/.*"node":"\([^"]*\)".*/\1/' "results/$run_name/records.jsonl" | sort -u | xargs) == 'bench-node-3 bench-node-4' ]]
	run -1 grep -q 'was edited\|was removed' "results/$run_name/records.jsonl"
	for i in 1 2 4; do
		[[ $(node "$i" ps --all --quiet --filter "name=bench-$run_name") == '' ]]
		[[ $(node "$i" volume ls --quiet --filter "name=bench-$run_name") == '' ]]
	done
	[[ $(node 1 network ls --quiet --filter "name=bench-$run_name") == '' ]]
	rm -rf "results/$run_name"
}
