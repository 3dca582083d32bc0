#!/usr/bin/env bats
# What all services need ends while the run goes on: it is started again, and what it spoiled is done again. Containers only
# pretend; $KILLS are dead once $KILLS_AT is asked of docker for the first time, which then fails where $FAILS says so.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	make_run a-run <<<'plan = [solo("aiohttp", 1), solo("tornado", 2)]
rates = [3000, 4000]'
	cat >docker <<-'EOS'
		#!/usr/bin/env bash
		cd "$FAKE" || exit
		if [[ ! -e killed && $* == *"$KILLS_AT"* ]]; then
			touch killed
			printf '%s\n' $KILLS >dead
			[[ ! $FAILS ]] || exit "$FAILS"
		fi
		case $* in
		exec*/ready) ! grep -qsx postgres dead; exit ;;
		compose*' up --detach --no-build '*) rm -f dead ;;
		esac
		exec "$PROJECT/tests/support/fake_docker" "$@"
	EOS
	chmod +x docker
}

setup() {
	cp -r "$BATS_FILE_TMPDIR/." "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return
	export FAKE=$PWD BENCH_DOCKER=$PWD/docker NOFILE=1024 KILLS_AT=nothing KILLS='' FAILS=''
}

loads() { grep -c 'measure run' calls; }

all_measured() { [[ $(metas | grep -c ' measured$') == 2 ]]; }

@test "nothing ends: each step is loaded once" {
	run -0 bash loop
	all_measured
	[[ $(loads) == 2 && $output != *'started again'* ]]
}

@test "a database that ends in a step is started again, and the step is loaded again after the others" {
	KILLS_AT='measure run' KILLS=postgres run -0 bash loop
	all_measured
	[[ $(loads) == 3 && -e results/a-run/raw/r01/aiohttp-py313-debian/json/wrk-c64.lost-1/output.txt ]]
	[[ $output == *'aiohttp-py313-debian json wrk c64: to be measured again, because postgres ended during it'* ]]
	[[ $(grep -c '^postgres ended while the run went on: started again$' <<<"$output") == 1 ]]
}

@test "what decides the next step is killed with the load generator: it goes on from the raw files" {
	KILLS_AT='bench next a-run --elapsed' KILLS=loadgen FAILS=1 run -0 bash loop
	all_measured
	[[ $(loads) == 2 ]]
}
