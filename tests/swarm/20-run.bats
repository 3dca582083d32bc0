#!/usr/bin/env bats
# A run on a real swarm (nodes.sh): the nodes that it needs are lost one after the other, and nothing measured is lost or counted
# twice.

load on_nodes

# Four nodes, of which 1 to 3 are managers; the first one leads, and has no role.
setup_file() {
	start_nodes 4
	scripts/swarm.sh label bench-node-2 loadgen
	scripts/swarm.sh label bench-node-3 support
	scripts/swarm.sh label bench-node-4 server
}

# comes_back I: the node, and the swarm knows it.
comes_back() {
	tests/swarm/nodes.sh start "$1"
	until_state 3 "$1" ready
}

# until_step: the run has made one.
until_step() { until_said '^\[1/'; }

@test "load generator, server and the leading manager are cut while it measures: it stops and goes on, also with a node that joined late in the place of a drained one; each measurement is recorded once" {
	measure --swarm --stack uvicorn-asgi,hypercorn-asgi --scenario json --tool wrk --level 16 --rounds 6 --controls none
	until_step
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
	comes_back 4

	# It is drained, and one that joins late serves; then the swarm needs a new leader.
	node 3 node update --availability drain bench-node-4
	tests/swarm/nodes.sh add 5
	scripts/swarm.sh label bench-node-5 server
	measure --resume "$run_name"
	until_step
	grep -q '^nodes: server bench-node-5, ' "$log"
	[[ $(node 3 node inspect --format '{{.ManagerStatus.Leader}}' bench-node-1) == true ]]
	tests/swarm/nodes.sh cut 1
	ends_with 0

	recorded_once bench-node-4 bench-node-5
	nothing_left 2 3 4 5
	# The swarm keeps a network until all nodes that were in it have said that they are not; the command was in the run's last words.
	comes_back 1
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
