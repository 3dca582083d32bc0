#!/usr/bin/env bats
# The function that makes a service slower is named by the profile. Alone, as samples beside other tests are of a service that waits.

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

# why: what report.md says of the causes.
why() { sed -n '/^## Why/,/^## Setup/p' "$run_folder/report.md"; }

@test "the profile names the function that is slower, in report and page" {
	for _ in 1 2; do
		why
		! why | grep -q 'was not sampled: it had to wait for a CPU' || scripts/matrix.sh --quiet --resume "$run_folder"
	done
	[[ $(why | sed -n 's/^| \([^ ]*:[^ ]*\) |.*/\1/p' | head -n1) == app.py:burn ]]
	why | grep -q '^By package: app.py +'
	grep -q '<div id="flames"' "$run_folder/index.html"
}

@test "its raw files are the user's, and no container is left" {
	local stacks
	for stacks in "$run_folder"/raw/profiles/*/busy-50/wrk-c8/w1/*; do [[ -s $stacks/stacks.txt && -s $stacks/meta.json ]]; done
	[[ ${stacks%/busy*} == *slower-40us* && ! -e $run_folder/profiles.jsonl ]]
	[[ $(owners "$run_folder/raw/profiles") == "$(id -un)" ]]
	[[ -z $(containers_of "$run_folder") ]]
}
