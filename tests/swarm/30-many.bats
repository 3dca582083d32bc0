#!/usr/bin/env bats
# Blocks in parallel on two pairs of nodes of a real swarm (nodes.sh), one of which is lost in between. All nodes are on one
# machine, so the figures of such a run mean nothing.

load on_nodes

setup_file() {
	start_nodes 5
	scripts/swarm.sh label bench-node-1 support
	for i in 2 3; do scripts/swarm.sh label "bench-node-$i" loadgen; done
	for i in 4 5; do scripts/swarm.sh label "bench-node-$i" server; done
}

# until_loaded N: waits until the load generator on node N is loading a block.
until_loaded() {
	local tries
	for ((tries = 0; tries < 480; tries++)); do
		! node "$1" top "$(node "$1" ps --quiet --filter label=com.docker.compose.service=loadgen)" 2>/dev/null | grep -q 'bench.cli.measure run' || return 0
		sleep 0.25
	done
	cat "$log"
	return 1
}

# facts_of: prints `NODE UNIT BEGIN END` of each block.
facts_of() {
	python3 - "results/$run_name" <<-'EOS'
		import json, pathlib, sys
		run = pathlib.Path(sys.argv[1])
		found = set()
		for line in map(json.loads, (run / "plan.jsonl").read_text().splitlines()):
		    meta = json.loads((run / line["dir"] / "meta.json").read_text())
		    found.add((meta["node"], line["unit"], meta["begin_ns"], meta["end_ns"]))
		for one in sorted(found):
		    print(*one)
	EOS
}

@test "two blocks in parallel on two pairs of nodes: if one pair is lost, the other's results stay, and everything is measured once" {
	measure --swarm --stack uvicorn-asgi,hypercorn-asgi --vary BACKLOG=64,128,256,512,1024 --scenario json --tool wrk --level 16 --rounds 2 --controls none
	until_said '^\[2/'
	grep -q '^2 pairs of nodes side by side: bench-node-4 with load generator bench-node-2; bench-node-5 with load generator bench-node-3$' "$log"
	# Each has its own network, database and load generator.
	[[ $(node 1 ps --quiet --filter label=com.docker.compose.service=postgres | wc -l) == 2 ]]
	[[ $(node 1 network ls --filter "name=bench-$run_name" --format '{{.Name}}' | sort -u | wc -l) == 2 ]]
	until_loaded 3
	whole=$(measured)
	((whole == 10))
	tests/swarm/nodes.sh cut 5
	ends_with 1
	grep -q 'node bench-node-5 (server) is lost: what it was measuring is not recorded' "$log"

	# The other block was finished, and the next call records it.
	tests/swarm/nodes.sh start 5
	until_state 1 5 ready
	measure --resume "$run_name"
	until_said '^\[1/'
	grep -q '^\[1/1\]' "$log"
	ends_with 0
	grep -q 'pairs of nodes' "results/$run_name/report.md"

	recorded_once bench-node-4 bench-node-5
	[[ $(wc -l <"results/$run_name/plan.jsonl") == 20 ]]

	# The two blocks of the first round overlapped, on two nodes.
	facts_of >"$BATS_TEST_TMPDIR/facts"
	cat "$BATS_TEST_TMPDIR/facts"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/facts") == 4 ]]
	{ read -r first _ begin end && read -r second _ begin2 end2; } < <(grep ' r01-' "$BATS_TEST_TMPDIR/facts")
	[[ $first != "$second" ]]
	((begin < end2 && begin2 < end))

	nothing_left 1 2 3 4 5
	[[ $(node 1 network ls --quiet --filter "name=bench-$run_name") == '' ]]
	rm -rf "results/$run_name"
}

@test "solo windows on two pairs of nodes: a killed database is started again, and everything is measured once" {
	# On one machine, each pair is noise for the other.
	export MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999
	measure --swarm --mode solo --stack uvicorn-asgi,hypercorn-asgi --scenario json --tool wrk --level 16 --rounds 2 --duration 5
	until_said '^\[1/'
	grep -q '^2 pairs of nodes side by side: ' "$log"
	read -r database _ < <(node 1 ps --quiet --filter label=com.docker.compose.service=postgres | xargs)
	node 1 kill "$database"
	ends_with 0
	grep -q '^postgres ended during the run: started again$\|to be measured again, because postgres ended during it' "$log"
	recorded_once bench-node-4 bench-node-5
	nothing_left 1 2 3 4 5
	rm -r "results/$run_name"
}
