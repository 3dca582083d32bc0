#!/usr/bin/env bats
# Two services in turns: a real difference is found and ends the measurement. --max-time ends the run first, and it is resumed.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	# A request that costs over 50 % more: the first interim look is enough, even while other tests run.
	cat >>services/matrix.local.toml <<-'LIST'
		[selftests.synthetic-slower-150us]
		app = "synthetic"
		environment = { SLOWER_US = "150" }
		interface = "asgi"
		lacks = { "*" = "only for this test" }
	LIST
	scripts/matrix.sh --quiet --stack uvicorn-synthetic,uvicorn-synthetic-slower-150us --scenario busy-50 --tool wrk \
		--level 8 --rounds 6 --controls none --max-time 0.05 >"$BATS_FILE_TMPDIR/said" 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	cp "$(the_run)/report.md" "$BATS_FILE_TMPDIR/early.md"
	scripts/pr-comment.sh "$(the_run)" --fail-on no-winner >"$BATS_FILE_TMPDIR/early-comment" || touch "$BATS_FILE_TMPDIR/failed"
	scripts/matrix.sh --resume "$(the_run)" 2>"$BATS_FILE_TMPDIR/resume.log" || {
		cat "$BATS_FILE_TMPDIR/resume.log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

@test "after --max-time, report and comment say what is missing" {
	[[ $(<"$BATS_FILE_TMPDIR/said") == "$run_folder/report.md" ]]
	# With --quiet, this is the only message.
	[[ $(<"$BATS_FILE_TMPDIR/log") == 'the time is up (--max-time): '* && $(wc -l <"$BATS_FILE_TMPDIR/log") == 1 ]]
	grep -qE '^- busy-50 wrk c8: [0-3] of the 4 rounds needed for the first verdicts; ' "$BATS_FILE_TMPDIR/early.md"
	[[ -e $BATS_FILE_TMPDIR/failed && $(<"$BATS_FILE_TMPDIR/early-comment") == '### 1 comparison: 1 no winner'* ]]
}

@test "the slower of two is found by its CPU per request, and then no longer measured" {
	cat "$run_folder/verdicts.jsonl"
	grep -q '"kind": "contrast".*"judge": "CPU per request".*"b": "uvicorn-synthetic-slower-150us-py313-debian", "verdict": "slower".*"settled": true' "$run_folder/verdicts.jsonl"
	grep -qE '^\| 2 \| synthetic-slower-150us \| -[0-9.]+ % \(' "$run_folder/report.md"
	local rounds=("$run_folder"/raw/r*)
	((${#rounds[@]} == 4 || ${#rounds[@]} == 6)) # after a look
}

@test "the comment for a pull request says so, and fails if the policy requires it" {
	run -1 scripts/pr-comment.sh "$run_folder" --fail-on slower
	[[ $output == '### 1 comparison: 1 slower'* ]]
	[[ $output == *'| `uvicorn-synthetic-slower-150us-py313-debian` | `uvicorn-synthetic-py313-debian` | `busy-50 wrk c8` | slower | -'* ]]
	run -0 scripts/pr-comment.sh "$run_folder" --fail-on invalid
}

@test "no container of a run is left" {
	[[ -z $(containers_of "$(the_run)") ]]
}
