#!/usr/bin/env bats
# The loop over a run: which verbs scripts/measure.sh calls, and how it ends, with a fake driver.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir bin
	# Each verb ends with the next status in its file, or with 0 if there is none.
	cat >bin/python3 <<-EOS
		#!/usr/bin/env bash
		echo "\${*:4}" >>"$PWD/calls"
		status=0
		[[ ! -s $PWD/\$4 ]] || { status=\$(sed -n 1p "$PWD/\$4") && sed -i 1d "$PWD/\$4"; }
		exit "\$status"
	EOS
	chmod +x bin/python3
	echo 0 >next && printf '%s\n' 0 3 >measure
	export PATH=$PWD/bin:$PATH BENCH_HELD=$PWD SERVER_CPUS=0 LOADGEN_CPUS=1 DATABASE_CPUS=2
	measure=$BATS_TEST_DIRNAME/../../scripts/measure.sh
}

# calls: prints all calls in one line.
calls() { tr '\n' ' ' <calls; }

@test "a run is built, started, verified, measured to its last step, profiled and reported" {
	run -0 --separate-stderr "$measure" a-run
	[[ $(calls) == 'build a-run begin a-run verify a-run next a-run measure a-run measure a-run profile a-run report a-run ' ]]
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == $'results/a-run\nCPUs: server 0, load generator 1, database 2' ]]
}

@test "the time limit is the plan's, or the call's; once the time is up, nothing is profiled" {
	echo 4 >next
	MAX_TIME_S=60 run -0 "$measure" a-run
	[[ $(calls) == *'verify a-run next a-run --max-time 60 report a-run ' ]]
	rm calls
	echo 4 >measure
	MAX_TIME_S=60 run -0 "$measure" a-run
	[[ $(calls) == *'next a-run --max-time 60 measure a-run --max-time 60 report a-run ' ]]
	rm calls
	echo 3 >next
	MAX_TIME_S=60 run -0 "$measure" a-run 90
	[[ $(calls) == *'next a-run --max-time 90 profile a-run --max-time 90 report a-run ' ]]
	rm calls
	echo 3 >next
	MAX_TIME_S=60 run -0 "$measure" a-run ''
	[[ $(calls) == *'next a-run profile a-run report a-run ' ]]
}

@test "a verb that fails ends the run with its status and without another message" {
	local verb
	for verb in build begin verify next measure profile report; do
		echo 7 >"$verb"
		rm -f calls
		run -7 --separate-stderr "$measure" a-run
		[[ $(tail -n1 calls) == "$verb a-run" && ${#stderr_lines[@]} == 2 ]]
		echo 0 >next && printf '%s\n' 0 3 >measure
	done
}

@test "with docker-compose up bench, nothing is built or started" {
	BENCH_ENGINE=composed run -0 "$measure" a-run
	[[ $(calls) == 'verify a-run next a-run '* && $output == results/a-run ]]
}

@test "a run that is not held is not measured" {
	unset BENCH_HELD
	run -2 "$measure" a-run
	[[ $output == 'measure.sh: a run is measured by scripts/matrix.sh; see --help' && ! -e calls ]]
	run -0 "$measure" --help
	[[ ${lines[0]} == 'Usage: scripts/measure.sh RUN [SECONDS]' ]]
}
