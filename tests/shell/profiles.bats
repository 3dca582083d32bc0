#!/usr/bin/env bats
# The windows of --profile, on containers that only pretend: each service is loaded once more and sampled meanwhile, and what
# cannot be sampled is no failure.

bats_require_minimum_version 1.5.0

load loop

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export FAKE=$PWD PROFILE_TABLES=yes
	mkdir results
	PYTHONPATH=$PROJECT:$PROJECT/tests/support python3 - <<-'MAKE'
		from pathlib import Path
		from built_runs import lines_of
		from profiled_run import STACKS_OF, first_of, write_profile, write_profiled

		run = write_profiled(Path("results/a-run"), profiles=False)
		for stack in STACKS_OF:
		    made = write_profile(Path("made"), first_of(lines_of(run), stack), "", 3000)
		    for name in ("meta.json", "sampler.txt", "server.before", "server.after"):
		        (made / name).unlink()
		    made.rename(made.with_name(made.name + ".part"))
	MAKE
	printf 'run (app.py:1) 200\n\n' >sampled
	cat >loop <<-'LOOP'
		set -Eeuo pipefail
		source "$PROJECT/scripts/lib/containers.sh"
		source "$PROJECT/scripts/lib/measure.sh"
		source "$PROJECT/scripts/lib/profiles.sh"
		source "$PROJECT/scripts/lib/run.sh"
		docker=$BENCH_DOCKER run=a-run run_dir=$PWD/results/a-run project=bench-a-run LOADGEN_CPUS=1
		trap_errors
		sleep() { :; }
		in_run profile_tables "${MAX_TIME:-}"
	LOOP
}

place() { echo "results/a-run/raw/profiles/$1-py313-debian/json/wrk-c16"; }

@test "each service is loaded once more and sampled from a container beside it" {
	run -0 bash loop
	[[ $output == $'sampling 2 services under the load of their tables\nsampling aiohttp-py313-debian json wrk c16\nsampling tornado-py313-debian json wrk c16' ]]
	[[ $(<"$(place aiohttp)/stacks.txt") == 'run (app.py:1) 200' && -s $(place tornado)/meta.json ]]
	calls
	[[ $(calls | grep -c '^exec loadgen loadgen/measure run') == 2 ]]
	[[ $(calls | grep '^run ' | head -n1) == 'run --rm --name sampler --label bench.run=bench-a-run --pid container:bench-a-run-aiohttp-py313-debian --network none --cap-drop ALL --cap-add SYS_PTRACE --user 0:0 --cpuset-cpus 1 '* ]]
	[[ $(find results/a-run -name '*.part') == '' && ! -e results/a-run/step.sh ]]
}

@test "a service that cannot be sampled is said in a line, and the next one is sampled" {
	echo 'Error: Unsupported version of Python: 3.15.0' >not-sampled
	run -0 bash loop
	[[ $output == *$'wrk c16\naiohttp-py313-debian is not sampled: Error: Unsupported version of Python: 3.15.0\nsampling tornado'* ]]
	[[ ! -e $(place aiohttp)/stacks.txt && $(<"$(place aiohttp)/sampler.txt") == Error:* ]]
}

@test "a load that fails is said too" {
	echo 12 >run
	run -0 bash loop
	[[ $output == *'aiohttp-py313-debian is not sampled: measure: it is wrong'* && $output == *'sampling tornado'* ]]
	[[ $(<"$(place aiohttp)/meta.json") == *'"load tool failed"'* ]]
}

@test "no window begins when the time is up" {
	run -0 env MAX_TIME=0 bash loop
	[[ $output == 'the time is up (--max-time): not all services are profiled; --resume a-run goes on' ]]
	[[ $(calls | grep -c 'measure run') == 0 ]]
}

@test "a run without --profile asks nothing" {
	run -0 env PROFILE_TABLES= bash loop
	[[ -z $output && ! -s calls ]]
}
