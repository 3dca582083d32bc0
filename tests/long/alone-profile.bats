#!/usr/bin/env bats
# The profile names the function that makes a service slower. Runs alone: beside other tests, samples show a service waiting for CPU.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	scripts/matrix.sh --quiet --stack uvicorn-synthetic,uvicorn-synthetic-slower-40us --scenario busy-50 --tool wrk \
		--level 8 --rounds 6 --controls none --profile 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# why: prints the part of report.md about causes.
why() { sed -n '/^## Why/,/^## Setup/p' "$run_folder/report.md"; }

@test "the profile names the slower function, in report and page" {
	for _ in 1 2; do
		why
		! why | grep -q 'was not sampled: it had to wait for a CPU' || scripts/matrix.sh --quiet --resume "$run_folder"
	done
	[[ $(why | sed -n 's/^| \([^ ]*:[^ ]*\) |.*/\1/p' | head -n1) == app.py:burn ]]
	why | grep -q '^By package: app.py +'
	grep -q '<div id="flames"' "$run_folder/index.html"
}

@test "its raw files belong to the user, and no container is left" {
	local stacks
	for stacks in "$run_folder"/raw/profiles/*/busy-50/wrk-c8/w1/*; do [[ -s $stacks/stacks.txt && -s $stacks/meta.json ]]; done
	[[ ${stacks%/busy*} == *slower-40us* && ! -e $run_folder/profiles.jsonl ]]
	[[ $(owners "$run_folder/raw/profiles") == "$(id -un)" ]]
	[[ -z $(containers_of "$run_folder") ]]
}
