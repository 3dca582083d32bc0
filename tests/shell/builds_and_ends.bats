#!/usr/bin/env bats
# The last thing that a run does with Docker: it leaves no container and no network.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/containers.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/containers.sh"
	# shellcheck source=scripts/lib/run.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/run.sh"
	run='a-run' run_dir=$BATS_TEST_TMPDIR/run project=bench-a-run docker=engine
	mkdir -p "$run_dir"
	echo 'services: {}' >"$run_dir/compose.yml"
	: >"$BATS_TEST_TMPDIR/calls"
}

# engine WORDS...: notes its call.
engine() { echo "$*" >>"$BATS_TEST_TMPDIR/calls"; }

@test "the end of a run takes away its containers, volumes and networks, and those of no other" {
	close_run
	[[ $(head -n1 "$BATS_TEST_TMPDIR/calls") == "compose --project-name bench-a-run --file $run_dir/compose.yml --profile * down --timeout 0 --volumes --remove-orphans" ]]
	run -1 grep -Ev '^compose --project-name bench-a-run |^(ps|network ls) .*=bench-a-run$' "$BATS_TEST_TMPDIR/calls"
	[[ $(grep -c ' down ' "$BATS_TEST_TMPDIR/calls") == 1 ]]
}

@test "what cannot be removed is said, with Compose's words" {
	sleep() { :; }
	engine() {
		[[ $* != *' down '* ]] || echo "error: it has active endpoints"
		[[ $* != network* ]] || echo 1a
	}
	run -0 close_run
	[[ $output == 'a-run: some of its containers and networks are left: error: it has active endpoints'* ]]
}

@test "a network that was still in use is removed by the next try" {
	engine() {
		echo "$*" >>"$BATS_TEST_TMPDIR/calls"
		[[ $* != network* ]] || (($(grep -c ' down ' "$BATS_TEST_TMPDIR/calls") > 1)) || echo 1a
	}
	close_run
	[[ $(grep -c ' down ' "$BATS_TEST_TMPDIR/calls") == 2 ]]
}

@test "a run that has started nothing asks Docker for nothing" {
	rm "$run_dir/compose.yml"
	close_run
	[[ ! -s $BATS_TEST_TMPDIR/calls ]]
}

@test "a run that fails is taken away too, and keeps its status" {
	# shellcheck disable=SC2016 # the inner bash expands it
	run -7 bash -c '
		set -Eeuo pipefail
		source "$1/scripts/lib/containers.sh"
		source "$1/scripts/lib/run.sh"
		calls=$2 run_dir=$3 run=a-run project=bench-a-run docker=engine
		engine() { echo "$*" >>"$calls"; }
		in_run exit 7' - "$BATS_TEST_DIRNAME/../.." "$BATS_TEST_TMPDIR/calls" "$run_dir"
	[[ $(head -n1 "$BATS_TEST_TMPDIR/calls") == 'compose --project-name bench-a-run '*' down '* ]]
}
