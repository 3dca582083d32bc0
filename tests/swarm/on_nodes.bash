# shellcheck shell=bash
# Shared by tests that start their own nodes (nodes.sh). Only declares.

bats_require_minimum_version 1.5.0

export NODES_HOME=${NODES_HOME:-/tmp/bench-nodes-test} NODES_SUBNET=${NODES_SUBNET:-198.18.65} NODES_POOL=${NODES_POOL:-198.18.136.0/21}
export BENCH_SUBNET=${BENCH_SUBNET:-198.18.143.0/24}

project=$BATS_TEST_DIRNAME/../..

# start_nodes N [--plain]: starts nodes, and lets docker and the scripts reach them.
start_nodes() {
	cd "$project" || return
	tests/swarm/nodes.sh down
	DOCKER_CONFIG=$(tests/swarm/nodes.sh up "$@")
	export DOCKER_CONFIG
}

teardown_file() {
	cd "$project" || return
	DOCKER_CONFIG='' tests/swarm/nodes.sh down
}

setup() {
	cd "$project" || return
	log=$BATS_TEST_TMPDIR/log
}

node() { docker --context "bench-node-$1" "${@:2}"; }

# measure WORD...: starts scripts/matrix.sh in the background, with output to $log. Sets `matrix`.
measure() {
	# Empty it here: otherwise until_said might find output of the previous run.
	: >"$log"
	scripts/matrix.sh "$@" >"$log" 2>&1 3>&- &
	matrix=$!
}

# until_said WORDS: waits until the run has printed WORDS. Sets `run_name`.
until_said() {
	local tries
	for ((tries = 0; tries < 2400; tries++)); do
		if grep -q -e "$1" "$log"; then
			run_name=$(sed -n 's|^results/\(2[^/]*\)$|\1|p' "$log")
			return
		fi
		kill -0 "$matrix" 2>/dev/null || break
		sleep 0.25
	done
	cat "$log"
	return 1
}

# until_state BY I STATE: waits until manager BY reports this state of node I.
until_state() {
	local tries
	for ((tries = 0; tries < 120; tries++)); do
		[[ $(node "$1" node inspect --format '{{.Status.State}}' "bench-node-$2" 2>/dev/null) != "$3" ]] || return 0
		sleep 0.5
	done
	return 1
}

# ends_with STATUS: waits for the run, which must end with this status.
ends_with() {
	local ended=0
	wait "$matrix" || ended=$?
	cat "$log"
	((ended == $1))
}

# measured: prints the number of complete measurements.
measured() { find "results/$run_name/raw" -name meta.json | wc -l; }

# recorded_once NODE...: each planned measurement is recorded exactly once, as measured, and these are the server nodes.
recorded_once() {
	local ids records=results/$run_name/records.jsonl
	ids=$(sed 's/.*"id":"\([^"]*\)".*/\1/' "$records" | sort)
	[[ $ids == "$(uniq <<<"$ids")" && $(wc -l <<<"$ids") == $(wc -l <"results/$run_name/plan.jsonl") ]]
	[[ $(grep -c '"outcome":"measured"' "$records") == $(wc -l <<<"$ids") ]]
	[[ $(sed 's/.*"node":"\([^"]*\)".*/\1/' "$records" | sort -u | xargs) == "$*" ]]
	run -1 grep -q 'was edited\|was removed' "$records"
}

# nothing_left I...: these nodes have no containers and volumes of the run.
nothing_left() {
	local i
	for i; do
		[[ $(node "$i" ps --all --quiet --filter "name=bench-$run_name") == '' ]]
		[[ $(node "$i" volume ls --quiet --filter "name=bench-$run_name") == '' ]]
	done
}
