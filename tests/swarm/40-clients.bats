#!/usr/bin/env bats
# Two load generators on one cell, each on its own node (nodes.sh).

load on_nodes

# Noise of this machine must not make windows invalid.
export MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999

setup_file() {
	start_nodes 3
	scripts/swarm.sh label bench-node-1 loadgen support
	scripts/swarm.sh label bench-node-2 loadgen
	scripts/swarm.sh label bench-node-3 server
}

selection=(--swarm --mode solo --stack uvicorn-asgi --scenario json --tool wrk --level c5 --duration 4 --rounds 1 --controls none)

@test "more load generators than nodes with that role are refused before anything is built or sent" {
	run -2 scripts/matrix.sh --loadgens 3 "${selection[@]}"
	[[ $output == *'3 load generators need 3 nodes of one kind, not 2'* && $output != *building\ 1* ]]
	rm -rf "$(grep -o 'results/2[^ ]*-all' <<<"$output" || echo results/none)"
}

@test "two load generators share the load and start together; the files of both are fetched" {
	local made run_folder cell
	made=$(scripts/matrix.sh --loadgens 2 "${selection[@]}" 2>"$BATS_FILE_TMPDIR/log") || { cat "$BATS_FILE_TMPDIR/log" && return 1; }
	run_folder=${made%/report.md}
	cell=$(compgen -G "$run_folder/raw/r01/*/json/wrk-c5/w1/uvicorn-asgi-py313-debian")
	cat "$cell"/{clients.tsv,output.txt}
	[[ $(cut -f1 "$cell/clients.tsv" | paste -sd' ') == 'bench-node-1 bench-node-2' ]]
	grep -q '3 connections' "$cell/client-1/output.txt"
	grep -q '2 connections' "$cell/client-2/output.txt"
	grep -q '"outcome": "measured"' "$cell/meta.json"
	# All nodes have the same clock: the measured offset must be within its stated error, and that error small.
	awk -F'\t' '{ exit !($2 ^ 2 <= (2 * $3) ^ 2 && $3 < 2e8) }' "$cell/clients.tsv"
	grep -q '"loadgens":2,"start_skew_s":[0-9]' "$run_folder/records.jsonl"
	grep -q '^- load generators: 2 per cell, .* each on its own node' "$run_folder/report.md"
	[[ ! $(docker --context bench-node-2 ps --all --quiet --filter "name=${run_folder##*/}") ]]
	rm -r "$run_folder"
}
