#!/usr/bin/env bats
# A run from its folder to its last container: what needs no engine to be tried.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/run.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/run.sh"
	run_dir=$BATS_TEST_TMPDIR/run
	declare -gA image_of=([app]=bench/app)
	mkdir -p "$run_dir/raw/services/app"
	docker=engine
}

engine() { echo "$*" >>"$BATS_TEST_TMPDIR/asked" && return "${refuses:-0}"; }

@test "a run that goes on has the image that it began with, and builds it where that is gone" {
	run ! restore_image app
	printf '[\n    {\n        "Id": "sha256:%064d",\n        "Parent": "sha256:1"\n    }\n]\n' 5 >"$run_dir/raw/services/app/image.json"
	restore_image app
	[[ $(<"$BATS_TEST_TMPDIR/asked") == "tag sha256:$(printf %064d 5) bench/app" ]]
	refuses=1
	run ! restore_image app
}

@test "a service that takes connections and answers none is given up in time" {
	waited=0
	in_loadgen() { sleep "${@: -1}" && ((waited += ${@: -1})) && return 1; }
	is_running() { :; }
	! READY_TIMEOUT=3 await_answer app
	((waited > 0 && waited <= 3))
}
