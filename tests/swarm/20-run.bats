#!/usr/bin/env bats
# A run on a real swarm (nodes.sh): its nodes are lost one after the other, and no measurement is lost or counted twice.

load on_nodes

# Four nodes: 1 to 3 are managers; node 1 is the leader and has no role.
setup_file() {
	start_nodes 4
	scripts/swarm.sh label bench-node-2 loadgen
	scripts/swarm.sh label bench-node-3 support
	scripts/swarm.sh label bench-node-4 server
}

# comes_back I: restarts the node and waits until the swarm sees it as ready.
comes_back() {
	tests/swarm/nodes.sh start "$1"
	until_state 3 "$1" ready
}

# until_step: waits until the run has finished a step.
until_step() { until_said '^\[1/'; }

@test "a run survives the loss of load generator, server and leader, and a replaced node; each measurement is recorded once" {
	measure --swarm --stack uvicorn-asgi,hypercorn-asgi --scenario json --tool wrk --level 16 --rounds 6 --controls none
	until_step
	grep -q '^nodes: server bench-node-4, load generator bench-node-2, database bench-node-3; ' "$log"
	# Containers are as hardened as on one machine, and none of the run is on another engine.
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

	# Drain node 4 and let a new node serve; then take the leader away.
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
	# The swarm keeps a network until all its nodes have left it; the run's last message has the command to remove it then.
	comes_back 1
	until_gone
	rm -rf "results/$run_name"
}

# until_gone: removes the run's network with the command from its last message, retrying until it works.
until_gone() {
	local tries left
	for ((tries = 0; tries < 60; tries++)); do
		left=$(node 3 network ls --quiet --filter "name=bench-$run_name")
		[[ $left ]] || return 0
		node 3 network rm "$left" >/dev/null 2>&1 || sleep 0.5
	done
	return 1
}
