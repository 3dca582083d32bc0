#!/usr/bin/env bats
# Pairs of services under load together: a difference that is there is found, and ends the measuring. The time ends it
# first, and it goes on.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	# A request that costs more than half as much again: eight rounds are enough, beside all other tests too, and so is a load
	# that leaves them most of the CPU and sends what a window has to have.
	cat >>services/matrix.local.toml <<-'LIST'
		[selftests.synthetic-slower-150us]
		app = "synthetic"
		environment = { SLOWER_US = "150" }
		interface = "asgi"
		lacks = { "*" = "only for this test" }
	LIST
	DUET_SECONDS=2 scripts/matrix.sh --quiet --stack uvicorn-synthetic,uvicorn-synthetic-slower-150us --scenario busy-50 \
		--tool hey --level c8r800 --mode duet --controls none --max-time 0.05 >"$BATS_FILE_TMPDIR/said" 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	cp "$(the_run)/report.md" "$BATS_FILE_TMPDIR/early.md"
	scripts/matrix.sh --resume "$(the_run)" 2>"$BATS_FILE_TMPDIR/resume.log" || {
		cat "$BATS_FILE_TMPDIR/resume.log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

@test "an end by --max-time leaves a report that says what is open" {
	[[ $(<"$BATS_FILE_TMPDIR/said") == "$run_folder/report.md" ]]
	# Nothing else is said.
	[[ $(<"$BATS_FILE_TMPDIR/log") == 'the time is up (--max-time): '* && $(wc -l <"$BATS_FILE_TMPDIR/log") == 1 ]]
	grep -q 'not enough data (' "$BATS_FILE_TMPDIR/early.md"
}

@test "the slower of two is found by its CPU, and then not measured on" {
	cat "$run_folder/verdicts.jsonl"
	grep -q '"b": "uvicorn-synthetic-slower-150us-py313-debian".*"judge": "CPU per request".*"verdict": "slower"' "$run_folder/verdicts.jsonl"
	grep -q '^| uvicorn-synthetic-slower-150us-py313-debian | uvicorn-synthetic-py313-debian | slower ' "$run_folder/report.md"
	local rounds measured
	rounds=$(sed -nE 's/.*"rounds": ([0-9]+).*/\1/p' "$run_folder/verdicts.jsonl")
	[[ $rounds == @(8|16) ]] # the first two interim looks of three
	# Rounds that are not valid come on top.
	measured=$(find "$run_folder/raw" -path '*/pairs/p001' | wc -l)
	((rounds <= measured && measured < 30))
}

@test "the comment for a pull request says so, and fails where it is asked to" {
	run -1 scripts/pr-comment.sh "$run_folder" --fail-on slower
	[[ $output == '### 1 pair: 1 slower'* ]]
	run -0 scripts/pr-comment.sh "$run_folder" --fail-on invalid
}

@test "both sides of a window ran in the same seconds, on containers of their own" {
	local rounds round
	rounds=("$run_folder"/raw/r*/pairs/p001)
	((${#rounds[@]} >= 8))
	for round in "${rounds[@]}"; do
		overlap "$round/1a/tool.json" "$round/1b/tool.json"
		overlap "$round/2a/tool.json" "$round/2b/tool.json"
	done
	[[ $(count '"outcome": *"not run"' "$run_folder/records.jsonl") == 0 ]]
}

time_of() { sed -nE "s/.*\"$1\": *([0-9]+).*/\1/p" "$2"; }

# overlap FILE FILE: the two loads share at least three quarters of their time.
overlap() {
	local begin_a begin_b end_a end_b
	begin_a=$(time_of start_ns "$1") end_a=$(time_of end_ns "$1") begin_b=$(time_of start_ns "$2") end_b=$(time_of end_ns "$2")
	local begin=$((begin_a > begin_b ? begin_a : begin_b)) end=$((end_a < end_b ? end_a : end_b))
	((4 * (end - begin) >= 3 * (end_a - begin_a)))
}

@test "no container of a run is left" {
	[[ -z $(containers_of "$(the_run)") ]]
}
