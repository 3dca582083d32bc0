#!/usr/bin/env bats
# The measuring loop on containers that only pretend: what is started, loaded and stopped, and how it ends when something
# fails.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	mkdir "$BATS_FILE_TMPDIR/made"
	cd "$BATS_FILE_TMPDIR/made" || return
	make_run a-run <<<'plan = [solo("aiohttp", 1), solo("tornado", 2)]
rates = [3000, 4000]'
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAKE=$PWD
	cp -r "$BATS_FILE_TMPDIR/made/." .
}

# stopped WORDS: status 1, and one line that says what happened, what is kept and how to go on.
stopped() {
	run -1 --separate-stderr bash loop
	# shellcheck disable=SC2154 # bats sets it
	echo "$stderr"
	[[ $output != *report.md* && $stderr != *'the end'* ]]
	[[ $(grep -c 'what is measured is kept in results/a-run; scripts/matrix.sh --resume a-run goes on$' <<<"$stderr") == 1 ]]
	[[ $(grep -c '^loop: ' <<<"$stderr") == 1 && $(grep '^loop: ' <<<"$stderr") == *"$1"* ]]
}

@test "a solo step: a fresh service and load generator, prepared, loaded, removed" {
	run -0 bash loop
	calls
	[[ $(calls | sed -n 2,6p) == "compose --project-name bench-a-run --file $PWD/results/a-run/compose.yml up --detach --no-deps --no-build --force-recreate --timeout 0 aiohttp-py313-debian loadgen
exec loadgen loadgen/measure prepare results/a-run
exec loadgen loadgen/measure run results/a-run
rm --force --volumes aiohttp-py313-debian
exec loadgen python3 -m bench next a-run"* ]]
	[[ $(metas) == 'r01/aiohttp-py313-debian/json/wrk-c64 measured
r01/tornado-py313-debian/json/wrk-c64 measured' ]]
	local dir=results/a-run/raw/r01/aiohttp-py313-debian/json/wrk-c64
	[[ $(<$dir/meta.json) == '{"schema": 1, "id": "r01-0001", "outcome": "measured", "detail": "", "image_id": "sha256:aiohttp-py313-debian", "begin_ns": '*', "started_ns": 1767225600000000000, "ready_ns": 3, "warm_ns": 4, "loaded_ns": '*', "end_ns": '* ]]
	grep -qx 'running true' $dir/server.after
	[[ -s $dir/database.before && -s $dir/upstream.after && ! -e $dir/server.log ]]
	[[ $(find results/a-run -maxdepth 1 -type f | sort) == $'results/a-run/plan.jsonl\nresults/a-run/run.json' ]]
}

@test "one call of Python for each step, between two loads" {
	run -0 bash loop
	[[ $(grep -c 'bench next' calls) == 3 ]]
	[[ $(calls | grep -oE 'bench next|measure (prepare|run)') == 'bench next
measure prepare
measure run
bench next
measure prepare
measure run
bench next' ]]
}

@test "a service that does not start, and a load that fails, are outcomes: the run goes on" {
	echo "no such image" >up-fails
	run -0 bash loop
	[[ $(metas | grep -c 'did not start') == 2 ]]
	grep -q '"detail": "no such image"' results/a-run/raw/r01/*/json/wrk-c64/meta.json
	[[ $(grep -c 'loadgen/measure' calls) == 0 ]]
	rm up-fails && echo 12 >run
	echo aiohttp-py313-debian >dead
	run -0 bash loop
	[[ $(metas) == 'r01/aiohttp-py313-debian/json/wrk-c64 died
r01/tornado-py313-debian/json/wrk-c64 load tool failed' ]]
	grep -q '^last words of' results/a-run/raw/r01/aiohttp-py313-debian/json/wrk-c64/server.log
}

@test "a planner that fails stops the run: the first time it is asked, and later" {
	for after in 0 1; do
		echo 2 >next-fails
		echo "$after" >next-fails-after
		stopped 'the next step cannot be decided: bench: the plan cannot be read'
	done
	# The step that had ended is kept.
	rm next-fails
	run -0 bash loop
	[[ $(grep -c 'measure run' calls) == 2 && $(metas | grep -c ' measured$') == 2 ]]
}

@test "an engine that fails when Python is asked stops the run: no status but its own means that nothing is left" {
	for status in 1 125 126 127 137; do
		echo "$status" >next-fails
		stopped 'the next step cannot be decided: '
	done
}

# full_disk PATTERN: what has such a name cannot be saved.
full_disk() {
	mkdir -p bin
	cat >bin/sync <<-SYNC
		#!/bin/sh
		case \$1 in *$1*) echo "sync: error syncing '\$1': No space left on device" >&2 && exit 1 ;; esac
	SYNC
	chmod +x bin/sync
	PATH=$PWD/bin:$PATH
}

@test "a full disk stops the run, wherever it is met" {
	local name
	for name in server.before database.after finished.env; do
		full_disk "$name"
		stopped "ended with status 1 at "
		[[ $stderr == *'No space left on device'* && $(metas) == '' ]]
		[[ $(find results -name ".$name.*") == '' ]]
	done
	rm -r bin
	run -0 bash loop
	[[ $(metas | grep -c ' measured$') == 2 ]]
}

@test "a folder that cannot be made stops the run" {
	ln -s /proc/nowhere results/a-run/raw/r01
	stopped "'mkdir -p \"\$run_dir/\$STEP_DIR\"' ended with status 1 at scripts/lib/measure.sh:"
}

@test "nothing left is a good end" {
	run -0 bash loop
	: >calls
	run -0 --separate-stderr bash loop
	[[ $stderr == $'building 5 services\nthe end' && $output == results/a-run/report.md ]]
	[[ $(calls) == 'exec loadgen python3 -m bench next'* && $(calls | wc -l) == 1 ]]
}

@test "the time is up: one line that says so, and what is measured stays" {
	sed -i '/^trap_errors/i up_at_start=$((up_at_start - 6000))' loop
	MAX_TIME=60 run -0 --separate-stderr bash loop
	[[ $stderr == *'the time is up (--max-time): the report says what is open; --resume a-run goes on'* ]]
	[[ ! $(metas) && $output == results/a-run/report.md ]]
}

# What bash counts SECONDS from is the time of day: a clock that is set moves it.
@test "a clock that is set forward or back by two hours moves no deadline" {
	sed -i '/^trap_errors/i SECONDS=7200' loop
	MAX_TIME=60 run -0 bash loop
	[[ $(metas | grep -c ' measured$') == 2 && $output != *'the time is up'* ]]
	rm -r results/a-run/raw/r01
	sed -i 's/^SECONDS=7200/SECONDS=-7200 up_at_start=$((up_at_start - 6000))/' loop
	MAX_TIME=60 run -0 bash loop
	[[ ! $(metas) && $output == *'the time is up'* ]]
}

@test "an interrupt ends the run at once; it goes on with what is not measured" {
	echo r01-0002 >hangs
	set -m
	env --default-signal=INT bash loop 2>log &
	local pid=$! status=0
	set +m
	for ((i = 0; i < 300; i++)); do
		[[ ! -e calls || $(grep -c 'measure prepare' calls) -lt 2 ]] || break
		sleep 0.1
	done
	kill -INT "$pid"
	wait "$pid" || status=$?
	cat log
	[[ $status == 130 && $(metas) == 'r01/aiohttp-py313-debian/json/wrk-c64 measured' ]]
	[[ $(head -n2 log | tail -n1) == '[1/2] aiohttp-py313-debian json wrk c64: 3,000 requests/s; '* ]]
	[[ $(tail -n1 log) == 'interrupted; what is measured is kept in results/a-run; scripts/matrix.sh --resume a-run goes on' ]]
	rm hangs calls
	run -0 bash loop
	[[ $(grep -c 'measure run' calls) == 1 && $(metas | grep -c ' measured$') == 2 ]]
}

@test "BENCH_DEBUG traces each command with its file and line" {
	BENCH_DEBUG=1 run -0 --separate-stderr bash loop
	grep -qE '^\++ measure\.sh:[0-9]+: measure_step$' <<<"$stderr"
	grep -qE '^\++ solo\.sh:[0-9]+: ' <<<"$stderr"
}
