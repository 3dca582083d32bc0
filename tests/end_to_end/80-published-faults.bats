#!/usr/bin/env bats
# What was wrong in the published comparisons, done again on purpose: each ends as its own cause in the records,
# and no figure of it is ranked. The app of known behaviour serves.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	# An app that takes its time to load: until then uvicorn does not listen.
	cp -r services/frameworks/synthetic services/frameworks/sleeper
	printf 'time.sleep(4)\n' >>services/frameworks/sleeper/app.py
	: >services/locks/py313/framework-sleeper.txt
	sed -i '/^\[selftests\]/a sleeper = { interface = "asgi", lacks = { "*" = "only for this test" } }' services/matrix.toml
	cat >>services/matrix.toml <<-'PRESET'

		[presets.late-or-500]
		title = "Answers that come after the timeout, or are a 500"
		stacks = ["uvicorn-synthetic"]
		timeout = 1
		tables = ["summary"]
		loads = [
		  { scenarios = ["late-2000"], tools = ["wrk", "hey"], levels = ["c8"] },
		  { scenarios = ["late-2000"], tools = ["vegeta"], levels = ["r20"] },
		  { scenarios = ["errors-30"], tools = ["wrk", "ab", "hey"], levels = ["c16"] },
		]
	PRESET
	cp -r scripts services/common.yml "$BATS_FILE_TMPDIR/"
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	cp -r "$BATS_FILE_TMPDIR/scripts" .
	cp "$BATS_FILE_TMPDIR/common.yml" services/
	rm -rf results/2*
	hog=''
}

# shellcheck disable=SC2154 # common.bash finds docker
teardown() { [[ ! $hog ]] || "$docker" rm --force "$hog" >/dev/null 2>&1 || true; }

teardown_file() { remove_images '^bench/uvicorn-sleeper-'; }

# measure ARGUMENT...: a run without controls, whose log is shown where it fails.
measure() { scripts/matrix.sh --controls none "$@" 2>"$BATS_TEST_TMPDIR/log" || { cat "$BATS_TEST_TMPDIR/log" && return 1; }; }

# change PATTERN WITH FILE: like sed, and fails where there is nothing to change.
change() { grep -q -- "$1" "$3" && sed -i "s#$1#$2#" "$3"; }

# caused TOOL CAUSE WORDS [SCENARIO]: the tool's record of the app is not valid, and says why.
caused() {
	local record
	record=$(grep "\"scenario\":\"${4:-}" "$(the_run)/records.jsonl" | grep -m1 "\"tool\":\"$1\"")
	grep -o '"outcome":.*"requests"' <<<"$record"
	[[ $record == *'"valid":false'* && $record == *"{\"cause\":\"$2\",\"detail\":\""*"$3"* ]]
	grep -q "^| $2 |" "$(the_run)/report.md"
}

@test "a service that is loaded before it is ready: the client's connections are refused" {
	# shellcheck disable=SC2016 # for the script that it is written into
	change 'attend in_loadgen loadgen/measure prepare .*' ': >"$dir/prepare.txt"' scripts/lib/solo.sh
	measure --stack uvicorn-sleeper --scenario json --tool hey --level 16 --duration 6
	caused hey "client fault" "connection refused"
}

@test "64 file descriptors for 128 connections: too many open files in the client" {
	change 'pids_limit: 4096' 'pids_limit: 4096\n    ulimits: {nofile: 64}' services/common.yml
	measure --stack uvicorn-synthetic --scenario json --tool hey --level 128 --duration 1
	caused hey "client fault" "too many open files"
	grep -q '"loadgen_limits":{"nofile":"64"' "$(the_run)/records.jsonl"
}

@test "30 % of the answers are a 500, or all are later than the timeout: errors, with every tool" {
	measure --preset late-or-500 --duration 1
	local tool
	for tool in wrk ab hey; do caused "$tool" errors "non2xx" errors-30; done
	for tool in wrk hey vegeta; do caused "$tool" errors "attempts" late-2000; done
}

@test "a client on a starved core: loadgen-bound" {
	(($(nproc) > 1)) || skip "server and client have one core here"
	SERVER_CPUS=0 LOADGEN_CPUS=1 DATABASE_CPUS=0 measure --stack uvicorn-synthetic --scenario json --tool wrk --level 16 --duration 3 &
	local run=$!
	# While it warms up, and no longer than it is under load: the hog starves all that runs beside this test.
	until compgen -G 'results/2*/raw/r01/*/json/wrk-c16/prepare.txt' || ! kill -0 "$run"; do sleep 0.1; done
	# shellcheck disable=SC2016 # the container's shell expands it
	hog=$("$docker" run --detach --rm --init --network none --cpuset-cpus 1 --cpu-shares 16384 --entrypoint sh bench/loadgen \
		-c 'for i in 1 2 3; do while :; do :; done & done; wait')
	until grep -q '^\[1/1\]' "$BATS_TEST_TMPDIR/log" || ! kill -0 "$run"; do sleep 0.1; done
	"$docker" rm --force "$hog" >/dev/null
	wait "$run"
	caused wrk loadgen-bound "wrk waited for a CPU"
}
