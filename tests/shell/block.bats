#!/usr/bin/env bats
# A block of services in turns, on containers that only pretend: what is started, pinned, loaded and removed, and how it ends
# when something fails. What `bench turns` does in the load generator is in tests/unit/load.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	mkdir "$BATS_FILE_TMPDIR/made"
	cd "$BATS_FILE_TMPDIR/made" || return
	make_run a-run <<-'RUN'
		stacks = ("aiohttp", "tornado", "uvicorn-asgi")
		plan = [*block(1, stacks), *block(2, stacks)]
		rates = [3000, 4000, 5000] * 2
	RUN
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAKE=$PWD SEED=1 SERVER_CPUS=0 # as of the run's settings
	cp -r "$BATS_FILE_TMPDIR/made/." .
	echo services: >results/a-run/compose.yml
	names=(aiohttp-py313-debian tornado-py313-debian uvicorn-asgi-py313-debian)
	block=results/a-run/raw/r01/blocks/b1
}

# outcomes: of all windows, each with how often it came.
outcomes() { metas | sed 's/^[^ ]* //' | sort | uniq -c | tr -s ' '; }

# outcome_of SERVICE: in both rounds, a line each.
outcome_of() { metas | sed -n "s|.*/$1-py313-debian ||p"; }

@test "a block: all services up at once on every CPU, answered, pinned, counted, in turns, removed" {
	run -0 bash loop
	calls
	# Every name without what is its project's.
	[[ $(sed 's/bench-a-run-\([a-z]\)/\1/g; s/-1\b//g; s/SEED=1/SEED/; s/ $//' calls | grep -v '^inspect' | sed -n 2,6p) == "compose --project-name bench-a-run --file $PWD/results/a-run/compose.yml --file $PWD/results/a-run/block.yml up --detach --no-deps --no-build --force-recreate --timeout 0 ${names[*]} loadgen
exec loadgen env SEED python3 -m bench turns ready results/a-run
update --cpuset-cpus 0 ${names[*]}
exec loadgen env SEED python3 -m bench turns load results/a-run
rm --force --volumes ${names[*]}" ]]
	[[ $(<results/a-run/block.yml) == "services:"$'\n'"  ${names[0]}: {cpuset: \"$(</sys/devices/system/cpu/online)\"}"* ]]
	[[ $(cut -f1 results/a-run/containers.tsv | xargs) == "${names[*]} postgres upstream" ]]
	[[ $(outcomes) == ' 6 measured' ]]
	for name in "${names[@]}"; do
		grep -qx 'running true' "$block/services/$name.before"
		grep -qx 'running true' "$block/services/$name.after"
	done
	# Nothing of the loop is left.
	[[ ! -e results/a-run/step.jsonl && ! -e results/a-run/step.sh && ! -e results/a-run/finished.env ]]
}

@test "a line for each block" {
	run -0 --separate-stderr bash loop
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == *'[1/2] round 1, 3 services in turns: json wrk c16: 3 of 3 windows valid; 0 not valid, '* ]]
	[[ $stderr == *'[2/2] round 2, 3 services in turns: json wrk c16: 3 of 3 windows valid; 0 not valid, 0:00 left'* ]]
}

@test "containers that do not start: no turns, and the run goes on" {
	echo 'no such image' >up-fails
	run -0 bash loop
	[[ $(outcomes) == ' 6 did not start' && $(grep -c 'bench turns' calls) == 0 ]]
	grep -q '"detail": "no such image"' "$block"/json/wrk-c16/w1/*/meta.json
	[[ $(calls | grep -c "^rm --force --volumes ${names[0]}") == 2 ]]
}

@test "one container that does not start: its own words, and the others are measured" {
	echo tornado-py313-debian >up-fails-for
	rm -r made/raw/r0?/blocks/b1/json/wrk-c16/w1/tornado-py313-debian
	echo tornado-py313-debian >silent
	run -0 bash loop
	[[ $(outcomes) == $' 2 did not start\n 4 measured' && $(outcome_of tornado) == $'did not start\ndid not start' ]]
	grep -q '"detail": "no such image: tornado-py313-debian"' "$block"/json/wrk-c16/w1/tornado-py313-debian/meta.json
	# Nothing is asked of it, and all are removed.
	[[ $(calls | grep -c '^update') == 2 && $(calls | grep -c "^update .*${names[1]}") == 0 ]]
	[[ $(calls | grep -c "^rm --force --volumes .*${names[1]}") == 2 ]]
	[[ ! -e $block/services/${names[1]}.before && -e $block/services/${names[0]}.before ]]
}

@test "one service that gives no answer: the others are measured" {
	echo tornado-py313-debian >silent
	run -0 bash loop
	[[ $(outcomes) == $' 2 did not start\n 4 measured' && $(outcome_of tornado) == $'did not start\ndid not start' ]]
}

@test "one service that dies under load: its last words, and the others are measured" {
	rm made/raw/r0?/blocks/b1/json/wrk-c16/w1/tornado-py313-debian/tool.json
	echo tornado-py313-debian >dead
	run -0 bash loop
	[[ $(outcomes) == $' 2 died\n 4 measured' && $(outcome_of tornado) == $'died\ndied' ]]
	grep -q '"detail": "its container ended; its last words: last words of bench-a-run-tornado-py313-debian-1"' "$block"/json/wrk-c16/w1/tornado-py313-debian/meta.json
	[[ ! -e $block/services/aiohttp-py313-debian.log ]]
}

@test "turns that fail as a whole: all windows of the block say why, and the run goes on" {
	echo '1 OSError: [Errno 28] No space left on device' >turns
	run -0 bash loop
	[[ $(outcomes) == ' 6 load tool failed' ]]
	grep -q '"detail": "OSError: \[Errno 28\] No space left on device"' "$block"/json/wrk-c16/w1/aiohttp-py313-debian/meta.json
	[[ $(calls | grep -c '^rm --force') == 2 ]]
	# Measured when the run goes on: nothing of it has a figure yet.
	rm turns calls
	run -0 bash loop
	[[ $(outcomes) == ' 6 measured' ]]
}

@test "CPUs that cannot be given stop the run" {
	mkdir bin
	printf '#!/bin/sh\n[ "$1" != update ] || { echo "no such CPU" >&2; exit 1; }\nexec %q "$@"\n' "$BENCH_DOCKER" >bin/docker
	chmod +x bin/docker
	sed -i 's|docker=$BENCH_DOCKER|docker=$PWD/bin/docker|' loop
	run -1 --separate-stderr bash loop
	[[ $stderr == *'no such CPU'*'ended with status 1 at scripts/lib/'*'--resume a-run goes on'* && ! $(metas) ]]
}

@test "an interrupt in the turns ends the run at once; it goes on with the block, and measures no other again" {
	echo r02-b1 >hangs
	set -m
	env --default-signal=INT bash loop 2>log &
	local pid=$! status=0
	set +m
	for ((i = 0; i < 300; i++)); do
		[[ ! -e calls || $(grep -c 'turns load' calls) -lt 2 ]] || break
		sleep 0.1
	done
	kill -INT "$pid"
	wait "$pid" || status=$?
	cat log
	[[ $status == 130 && $(outcomes) == ' 3 measured' ]]
	# After it, Docker is only asked what is left.
	[[ $(calls | grep -vE '^(ps|network ls) ' | tail -n1) == *' down '* ]]
	# What the interrupted block left is not believed, nor does it stay.
	mkdir -p results/a-run/raw/r02/blocks/b1/json/wrk-c16/w1/tornado-py313-debian
	echo '{}' >results/a-run/raw/r02/blocks/b1/json/wrk-c16/w1/tornado-py313-debian/tool.json
	echo tornado-py313-debian >silent
	rm hangs calls
	run -0 bash loop
	[[ $(grep -c 'turns load' calls) == 1 && $(outcomes) == $' 1 did not start\n 5 measured' ]]
	[[ ! -e results/a-run/raw/r02/blocks/b1/json/wrk-c16/w1/tornado-py313-debian/tool.json ]]
	# One that failed in a block whose others were measured is no reason to measure these again.
	: >calls
	run -0 bash loop
	[[ $(grep -c 'turns load' calls) == 0 ]]
}
