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

selection=(--preset quick --stack uvicorn-asgi --scenario delay-20 --tool 'wrk,hey' --duration 3 --rounds 2 --controls none)

@test "the subnet of a run that a reboot has ended is free again; an interrupt ends a run within 5 s and leaves no container" {
	sleep $((LEFT + 11 > SECONDS ? LEFT + 11 - SECONDS : 0)) # a younger one may belong to a run that is starting
	set -m
	# A shell that runs this in the background would have it ignore the signal.
	env --default-signal=INT scripts/matrix.sh "${selection[@]}" 2>"$BATS_FILE_TMPDIR/log" &
	local pid=$! began
	set +m
	for ((i = 0; i < 600; i++)); do
		grep -q '^\[2/4\]' "$BATS_FILE_TMPDIR/log" && break
		sleep 0.2
	done
	sleep 2.5 # into the third measurement
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
	[[ $(metas "$(the_run)" | grep -c measured) == 2 ]]
}

# outcomes: of all four records, with their number.
outcomes() { sed -nE 's/.*"outcome": *"([^"]*)".*/\1/p' "$(the_run)/records.jsonl" | sort | uniq -c | tr -s ' '; }

@test "what is left of a killed write is no record" {
	local whole torn
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 1 cut off\n 2 measured\n 1 not run' ]]
	whole=$(find "$(the_run)/raw/r01" -name meta.json | head -n1)
	# As a write is killed before its file has its name, and as a disk may lose the end of one.
	torn=${whole%/*}/.meta.json.$$
	mv "$whole" "$torn"
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 2 cut off\n 1 measured\n 1 not run' ]]
	head -c 20 "$torn" >"$whole"
	scripts/report.sh "$(the_run)"
	[[ $(outcomes) == $' 2 cut off\n 1 measured\n 1 not run' ]]
	mv "$torn" "$whole"
}

@test "the run goes on and repeats only what has no complete record" {
	local before
	before=$(find "$(the_run)/raw" -name meta.json -exec sha256sum {} + | sort)
	scripts/matrix.sh --resume "$(the_run)" 2>"$BATS_FILE_TMPDIR/log"
	[[ $(grep -c '^\[./2\]' "$BATS_FILE_TMPDIR/log") == 2 ]]
	[[ $(metas "$(the_run)" | grep -c measured) == 4 ]]
	sha256sum --check --quiet <<<"$before"
	[[ $(outcomes) == ' 4 measured' ]]
	[[ $(the_run)/report.md -nt $(the_run)/plan.jsonl ]]
}

@test "a run whose project has changed since is not mixed with what was" {
	echo 'x-changed: yes' >>services/template.yml
	run -2 scripts/matrix.sh --resume "$(the_run)"
	[[ $output == *"has changed since"* ]]
}
