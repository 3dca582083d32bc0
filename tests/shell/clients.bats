#!/usr/bin/env bats
# Several load generators on one cell, with containers that only pretend: what is started, when each is to begin, and which one
# is named when it fails.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	mkdir "$BATS_FILE_TMPDIR/made"
	cd "$BATS_FILE_TMPDIR/made" || return
	make_run a-run <<<'plan = [solo("aiohttp", 1, loadgens=2)]
rates = [3000]'
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAKE=$PWD
	cp -r "$BATS_FILE_TMPDIR/made/." .
	dir=results/a-run/raw/r01/aiohttp-py313-debian/json/wrk-c64
}

@test "two load generators: one more container, one moment for both, and their outputs as one" {
	local now start
	now=$(date +%s%N)
	run -0 bash loop
	cat calls
	[[ $(grep -c 'up --detach .*--no-recreate --scale loadgen=2 loadgen$' calls) == 1 ]]
	start=$(sed -n 's/^exec bench-a-run-loadgen-1 env START_AT=\([0-9]*\) loadgen\/measure run results\/a-run client_1$/\1/p' calls)
	((start > now && start < now + 60000000000))
	[[ $(grep -c "^exec bench-a-run-loadgen-2 env START_AT=$start loadgen/measure run results/a-run client_2$" calls) == 1 ]]
	[[ $(grep -oE 'measure (prepare|run|merge)' calls | sort | uniq -c | tr -s ' \n' ' ') == ' 1 measure merge 1 measure prepare 2 measure run ' ]]
	[[ $(metas) == 'r01/aiohttp-py313-debian/json/wrk-c64 measured' ]]
	[[ -s "$dir/client-1/tool.json" && -s "$dir/client-2/output.txt" && -s "$dir/server.after" ]]
	[[ $(<"$dir/clients.tsv") == $'-\t0\t0\n-\t0\t0' ]]
	grep -q '"client-2/tool.json": "[0-9a-f]\{64\}"' "$dir/meta.json"
	# What both have done, as one line says it.
	[[ $output == *'aiohttp-py313-debian json wrk c64: 3,000 requests/s'* ]]
}

@test "the load generator that fails is named, and nothing is made of what the other one has" {
	echo '12 wrk ended with status 1' >client-2
	run -0 bash loop
	grep -q '"outcome": "load tool failed", "detail": "client 2: wrk ended with status 1"' "$dir/meta.json"
	[[ $(grep -c 'measure merge' calls) == 0 && ! -e "$dir/output.txt" ]]
}

@test "what an earlier try has left does not pass for this one's" {
	mkdir -p "$dir/client-2" && echo '{}' >"$dir/client-2/tool.json"
	echo '12 no' >client-2
	run -0 bash loop
	[[ ! -e "$dir/client-2" ]]
}

@test "a load generator that does not start" {
	echo 'loadgen=2' >up-fails-for
	run -0 bash loop
	grep -q '"outcome": "did not start", "detail": "no such image: loadgen=2"' "$dir/meta.json"
	[[ $(grep -c 'loadgen/measure' calls) == 0 ]]
}

@test "outputs that cannot be merged are the load tool's failure" {
	echo 12 >merge
	run -0 bash loop
	grep -q '"outcome": "load tool failed", "detail": "measure: it is wrong"' "$dir/meta.json"
}

@test "one load generator is started and asked as ever" {
	sed -i 's/, "loadgens": 2//' results/a-run/plan.jsonl
	run -0 bash loop
	[[ $(grep -c -e --scale -e START_AT -e client calls) == 0 ]]
	[[ $(grep -c 'exec bench-a-run-loadgen-1 loadgen/measure run results/a-run$' calls) == 1 ]]
	[[ ! -e "$dir/clients.tsv" ]]
}

# on_nodes COMMAND: with load generators on nodes one and two, whose clock is ahead by half a minute.
on_nodes() {
	cat >node <<-'NODE'
		#!/usr/bin/env bash
		echo "$*" >>calls
		[[ $2 == two ]] && ahead=30000000 || ahead=0
		[[ $* != *EPOCHREALTIME* ]] || while read -r; do echo "$((${EPOCHREALTIME/[.,]/} + ahead))000"; done
	NODE
	chmod +x node
	bash -Eeuo pipefail -c '
		source "$PROJECT/scripts/lib/containers.sh"
		source "$PROJECT/scripts/lib/measure.sh"
		docker=./node run=a-run run_dir=$PWD/results/a-run project=bench-a-run several=yes dir=. STEP_DIR=raw STEP_CLIENTS=(client_1 client_2)
		context_of=([loadgen]=one [loadgen-2]=two) node_of=([loadgen]=node-one [loadgen-2]=node-two)
		send_inputs() { :; }
		bring_home() { :; }
		'"$1"
}

@test "clocks of nodes are asked, and each begins by its own" {
	on_nodes 'read_client_clocks >clients.tsv && client_run 1 1767225600000000000 && client_run 2 1767225600000000000'
	cat clients.tsv calls
	local node ahead within
	read -r node ahead within < <(tail -n1 clients.tsv)
	[[ $node == node-two ]]
	((ahead - 30000000000 <= within && 30000000000 - ahead <= within && within < 5000000000))
	read -r node ahead _ < <(head -n1 clients.tsv)
	[[ $node == node-one ]] && ((ahead < 5000000000))
	[[ $(grep -c "^--context one exec bench-a-run-loadgen-1 env START_AT=$((1767225600000000000 + ahead)) " calls) == 1 ]]
	read -r _ ahead _ < <(tail -n1 clients.tsv)
	[[ $(grep -c "^--context two exec bench-a-run-loadgen-1 env START_AT=$((1767225600000000000 + ahead)) " calls) == 1 ]]
}

@test "a clock that cannot be asked ends the step, and is no start at another moment" {
	# shellcheck disable=SC2016 # for the shell there
	on_nodes 'docker=false facts=() status=0; load_by_clients; [[ $status == 1 ]]'
	[[ ! -e calls ]]
}
