#!/usr/bin/env bats
# A run that is interrupted ends at once, leaves nothing behind, and goes on where it was.

load common

setup_file() {
	leave_network bench-20200101-000000-quick
	export LEFT=$SECONDS
	copy_project "$BATS_FILE_TMPDIR/project"
}

teardown_file() { "$docker" network rm bench-20200101-000000-quick_bench >/dev/null 2>&1 || true; }

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# leave_network PROJECT: as a run leaves it whose containers a reboot has ended.
leave_network() {
	"$docker" network create --internal --subnet "$BENCH_SUBNET" --label com.docker.compose.network=bench \
		--label "com.docker.compose.project=$1" "$1_bench"
}

# Two rounds, with two tables each: eight windows, which are long enough to be interrupted.
selection=(--preset quick --stack 'uvicorn-asgi,aiohttp' --scenario delay-20 --tool 'wrk,hey' --rounds 2 --controls none)
export TURN_SECONDS=2

@test "the subnet of a run that a reboot has ended is free again; an interrupt ends a run within 5 s and leaves no container" {
	sleep $((LEFT + 11 > SECONDS ? LEFT + 11 - SECONDS : 0)) # a younger one may belong to a run that is starting
	set -m
	# A shell that runs this in the background would have it ignore the signal.
	env --default-signal=INT scripts/matrix.sh "${selection[@]}" 2>"$BATS_FILE_TMPDIR/log" &
	local pid=$! began
	set +m
	local begun=()
	for ((i = 0; i < 600 && ${#begun[@]} < 2; i++)); do
		sleep 0.2
		mapfile -t begun < <(compgen -G 'results/2*/raw/r02/b1/*/*/w1/*/.output.txt.tmp')
	done
	sleep 1 # into the turns of the second round's first table
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

# outcomes: of all records, with their number; what was not begun of a round after the first has none.
outcomes() { sed -nE 's/.*"outcome": *"([^"]*)".*/\1/p' "$(the_run)/records.jsonl" | sort | uniq -c | tr -s ' '; }

@test "what is left of a killed write is no record" {
	local whole torn
	scripts/report.sh "$(the_run)"
	outcomes
	[[ $(outcomes) == $' 2 cut off\n 4 measured' ]]
	whole=$(find "$(the_run)/raw/r01" -name meta.json | head -n1)
	# As a write is killed before its file has its name, and as a disk may lose the end of one.
	torn=${whole%/*}/.meta.json.$$
	mv "$whole" "$torn"
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 3 cut off\n 3 measured' ]]
	head -c 20 "$torn" >"$whole"
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 3 cut off\n 3 measured' ]]
	mv "$torn" "$whole"
}

@test "the run goes on and measures every planned window exactly once" {
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

@test "a run whose project has changed since is not mixed with what was" {
	echo 'x-changed: yes' >>services/template.yml
	run -2 scripts/matrix.sh --resume "$(the_run)"
	[[ $output == *"has changed since"* ]]
}
