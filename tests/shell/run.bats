#!/usr/bin/env bats
# A run from its folder to its last container: what needs no engine to be tried.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/run.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/run.sh"
	run_dir=$BATS_TEST_TMPDIR/run
	declare -gA image_of=([app]=bench/app)
	mkdir -p "$run_dir"/raw/services/{app,slow,good,hangs,liar}
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

# verified NAME...: verify_services for these; one fails with each line of $BATS_TEST_TMPDIR/NAME, which that uses up.
verified() {
	run="a-run"
	names=("$@")
	report() { printf '%s\timage\t--concurrent\tjson\n' "${names[@]}"; }
	local stub
	for stub in keep_facts start_service await_answer keep_idle stop_service server_log server_limits; do eval "$stub() { :; }"; done
	in_loadgen() {
		local name=$6
		echo "$name" >>"$BATS_TEST_TMPDIR/order"
		: >"$run_dir/raw/services/$name/verify.json"
		[[ -s $BATS_TEST_TMPDIR/$name ]] || { echo ok && return; }
		echo "not ok - $(sed -n 1p "$BATS_TEST_TMPDIR/$name")"
		sed -i 1d "$BATS_TEST_TMPDIR/$name"
		return 1
	}
	verify_services 4
}

late="json Waits as long as asked: expected at most 0.35 s, got 0.5 s in the last of 5 tries"
unanswered="json Status: expected an answer, got no complete answer within 30 s"
wrong='json Status, content type and body: expected {"message":"Hello"}, got {"message":"Hell"}'

@test "what was only late beside others is verified once more, alone, after them" {
	echo "$late" >"$BATS_TEST_TMPDIR/slow"
	printf '%s\n' "$unanswered" "$late" >"$BATS_TEST_TMPDIR/hangs"
	run -0 --separate-stderr verified slow good hangs
	[[ $(sort "$BATS_TEST_TMPDIR/order" | uniq -c | tr -s ' ') == $' 1 good\n 2 hangs\n 2 slow' ]]
	[[ $(tail -n2 "$BATS_TEST_TMPDIR/order") == $'slow\nhangs' ]]
	[[ -e $run_dir/raw/services/slow/verify.json && -e $run_dir/raw/services/slow/beside/verify.txt ]]
	[[ ! -e $run_dir/raw/services/slow/failure.json && ! -e $run_dir/raw/services/good/beside ]]
	grep -q '"failed verification"' "$run_dir/raw/services/hangs/failure.json"
	# shellcheck disable=SC2154 # run sets it
	[[ $(grep -c ': failed verification' <<<"$stderr") == 1 ]]
}

@test "a wrong answer has no second chance, late or not" {
	echo "$wrong" >"$BATS_TEST_TMPDIR/liar"
	run -0 verified liar good
	[[ $(sort "$BATS_TEST_TMPDIR/order") == $'good\nliar' ]]
	grep -q '"failed verification"' "$run_dir/raw/services/liar/failure.json"
	printf 'not ok - %s\n' "$late" "$wrong" "$unanswered" >"$BATS_TEST_TMPDIR/verify.txt"
	run ! only_late "$BATS_TEST_TMPDIR/verify.txt"
	printf 'ok - json\nTraceback\n' >"$BATS_TEST_TMPDIR/verify.txt"
	run ! only_late "$BATS_TEST_TMPDIR/verify.txt"
}

@test "what is late alone has failed" {
	echo "$late" >"$BATS_TEST_TMPDIR/slow"
	run -0 verified slow
	[[ $(wc -l <"$BATS_TEST_TMPDIR/order") == 1 ]]
	[[ -e $run_dir/raw/services/slow/failure.json && ! -e $run_dir/raw/services/slow/beside ]]
}

# second SLOT DATABASE: the Compose file of the second container of a pair, whose first side has this slot.
second() {
	local -A database=()
	local unit=r01-0007 a=app
	address_of() { [[ $1 == postgres2 ]] && echo 198.18.0.9; }
	printf '{"id": "r01-0007-1%s", "database": %s, "slot": %d}\n' a "$2" "$1" b "$2" "$((3 - $1))" >"$run_dir/plan.jsonl"
	choose_databases
	describe_second other
	echo "# a asks ${database[a]:-none}, b asks ${database[b]:-none}"
}

@test "where answers need a database, each side of a pair has its own: the second one is that of the side that starts second" {
	run -0 second 1 false
	[[ $output == $'services:\n  second:\n    extends: {file: compose.yml, service: other}\n# a asks none, b asks none' ]]
	run -0 second 1 true
	[[ $output == *$'service: other}\n    extra_hosts: [\'postgres:198.18.0.9\']\n# a asks postgres, b asks postgres2' ]]
	run -0 second 2 true
	[[ $output == *$'service: other}\n  app:\n    extra_hosts: [\'postgres:198.18.0.9\']\n# a asks postgres2, b asks postgres' ]]
}
