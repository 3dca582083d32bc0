#!/usr/bin/env bats
# An interrupted run ends at once, leaves nothing behind, and can be resumed.

load common

setup_file() {
	leave_network bench-20200101-000000-quick
	export LEFT=$SECONDS
	copy_project "$BATS_FILE_TMPDIR/project"
}

teardown_file() { "$docker" network rm bench-20200101-000000-quick_bench >/dev/null 2>&1 || true; }

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# leave_network PROJECT: creates the network that a run leaves when a reboot ends its containers.
leave_network() {
	"$docker" network create --internal --subnet "$BENCH_SUBNET" --label com.docker.compose.network=bench --label bench.network=yes \
		--label "com.docker.compose.project=$1" "$1_bench"
}

# Two rounds with two tables each: eight windows that are long enough to be interrupted.
selection=(--preset quick --stack 'uvicorn-asgi,aiohttp' --scenario delay-20 --tool 'wrk,hey' --rounds 2 --controls none)
export TURN_SECONDS=2

@test "the subnet of a run that a reboot has ended is freed; an interrupt ends a run within 5 s and leaves no container" {
	sleep $((LEFT + 11 > SECONDS ? LEFT + 11 - SECONDS : 0)) # a younger network may belong to a run that is starting
	set -m
	# Without --default-signal, a shell in the background would start it with the signal ignored.
	env --default-signal=INT scripts/matrix.sh "${selection[@]}" 2>"$BATS_FILE_TMPDIR/log" &
	local pid=$! began
	set +m
	local begun=()
	for ((i = 0; i < 600 && ${#begun[@]} < 2; i++)); do
		sleep 0.2
		mapfile -t begun < <(compgen -G 'results/2*/raw/r02/b1/*/*/w1/*/.output.txt.tmp')
	done
	sleep 1 # until services of the second round's first table take turns
	[[ $(containers_of "$(the_run)") ]]
	began=$EPOCHREALTIME
	grep -q '^removing what is left of bench-20200101-000000-quick' "$BATS_FILE_TMPDIR/log"
	kill -INT "$pid"
	local status=0
	wait "$pid" || status=$?
	echo "ended with $status after $((${EPOCHREALTIME/./} - ${began/./})) us"
	cat "$BATS_FILE_TMPDIR/log"
	((status == 130 && ${EPOCHREALTIME/./} - ${began/./} < 5000000))
	[[ -z $(containers_of "$(the_run)") ]]
	grep -q '^\[1/2\] round 1, 2 services in turns: ' "$BATS_FILE_TMPDIR/log"
	[[ $(metas "$(the_run)" | grep -c measured) == 4 ]]
}

# outcomes: counts the outcomes of all records; windows that were not started after the first round have no record.
outcomes() { sed -nE 's/.*"outcome": *"([^"]*)".*/\1/p' "$(the_run)/records.jsonl" | sort | uniq -c | tr -s ' '; }

@test "an incomplete file of a killed write is not a record" {
	local whole torn
	scripts/report.sh "$(the_run)"
	outcomes
	[[ $(outcomes) == $' 2 cut off\n 4 measured' ]]
	whole=$(find "$(the_run)/raw/r01" -name meta.json | head -n1)
	# A write that was killed before its file was renamed, and a file that lost its end on disk.
	torn=${whole%/*}/.meta.json.$$
	mv "$whole" "$torn"
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 3 cut off\n 3 measured' ]]
	head -c 20 "$torn" >"$whole"
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 3 cut off\n 3 measured' ]]
	mv "$torn" "$whole"
}

@test "the resumed run measures every planned window exactly once" {
	local before
	before=$(find "$(the_run)/raw" -name meta.json -exec sha256sum {} + | sort)
	scripts/matrix.sh --resume "$(the_run)" 2>"$BATS_FILE_TMPDIR/log"
	[[ $(grep -c '^\[./1\]' "$BATS_FILE_TMPDIR/log") == 1 ]]
	[[ $(metas "$(the_run)" | grep -c measured) == 8 ]]
	sha256sum --check --quiet <<<"$before"
	[[ $(outcomes) == ' 8 measured' ]]
	[[ $(metas "$(the_run)" | grep -oE '"id": "[^"]*"' | sort -u | wc -l) == 8 ]]
	[[ $(the_run)/report.md -nt $(the_run)/plan.jsonl ]]
}

@test "a run cannot be resumed after the project has changed" {
	echo 'x-changed: yes' >>services/template.yml
	run -2 scripts/matrix.sh --resume "$(the_run)"
	[[ $output == *"has changed since"* ]]
}
