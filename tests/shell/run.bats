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
	if READY_TIMEOUT=3 await_answer app; then false; fi
	((waited > 0 && waited <= 3))
}

# verified NAME...: verify_services for these; one fails for each line in $BATS_TEST_TMPDIR/fails-NAME, which that uses up.
verified() {
	local name
	run="a-run"
	for name in "$@"; do mkdir -p "$run_dir/raw/services/$name"; done
	report() { printf '%s\timage\t--concurrent\tjson\n' "${names[@]}"; }
	names=("$@")
	for name in keep_facts start_service await_answer keep_idle stop_service server_log server_limits; do eval "$name() { :; }"; done
	in_loadgen() {
		local of=$6
		echo "$of" >>"$BATS_TEST_TMPDIR/order"
		: >"$run_dir/raw/services/$of/verify.json"
		if [[ -s $BATS_TEST_TMPDIR/fails-$of ]]; then
			sed -i 1d "$BATS_TEST_TMPDIR/fails-$of"
			echo "not ok - json" && return 1
		fi
		echo ok
	}
	verify_services 4
}

@test "what fails beside others is verified once more, alone, after them" {
	echo 1 >"$BATS_TEST_TMPDIR/fails-slow"
	printf '%s\n' 1 2 >"$BATS_TEST_TMPDIR/fails-wrong"
	run -0 --separate-stderr verified slow good wrong
	sort "$BATS_TEST_TMPDIR/order" | uniq -c | tr -s ' ' >"$BATS_TEST_TMPDIR/times"
	cat "$BATS_TEST_TMPDIR/order" "$BATS_TEST_TMPDIR/times"
	[[ $(<"$BATS_TEST_TMPDIR/times") == $' 1 good\n 2 slow\n 2 wrong' ]]
	[[ $(tail -n2 "$BATS_TEST_TMPDIR/order") == $'slow\nwrong' ]]
	[[ -e $run_dir/raw/services/slow/verify.json && -e $run_dir/raw/services/slow/beside/verify.txt ]]
	[[ ! -e $run_dir/raw/services/slow/failure.json && ! -e $run_dir/raw/services/good/beside ]]
	grep -q '"failed verification"' "$run_dir/raw/services/wrong/failure.json"
	# shellcheck disable=SC2154 # run sets it
	[[ $(grep -c ': failed verification' <<<"$stderr") == 1 ]]
}

@test "what fails alone has failed" {
	echo 1 >"$BATS_TEST_TMPDIR/fails-wrong"
	run -0 --separate-stderr verified wrong
	[[ $(wc -l <"$BATS_TEST_TMPDIR/order") == 1 ]]
	[[ -e $run_dir/raw/services/wrong/failure.json && ! -e $run_dir/raw/services/wrong/beside ]]
}
