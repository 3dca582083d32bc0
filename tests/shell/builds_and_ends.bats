#!/usr/bin/env bats
# The first and the last thing that a run does with Docker: it builds images, and leaves no container and no network.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/containers.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/containers.sh"
	# shellcheck source=scripts/lib/images.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/images.sh"
	# shellcheck source=scripts/lib/run.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/run.sh"
	# shellcheck source=scripts/lib/verify.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/verify.sh"
	run='a-run' run_dir=$BATS_TEST_TMPDIR/run project=bench-a-run docker=engine
	mkdir -p "$run_dir"
	echo 'services: {}' >"$run_dir/compose.yml"
	: >"$BATS_TEST_TMPDIR/calls"
}

# engine WORDS...: notes its call; fails to build what $broken names.
engine() {
	echo "$*" >>"$BATS_TEST_TMPDIR/calls"
	[[ ! ${broken:-} || " $* " != *' build '*" $broken "* ]]
}

builds() { grep -o 'build --progress plain .*' "$BATS_TEST_TMPDIR/calls" | cut -d' ' -f4-; }

# recorded: what Python was told of failures.
recorded() { grep -o 'service-failed .*' "$BATS_TEST_TMPDIR/calls"; }

@test "what builds is built in one call for sixteen services" {
	run -0 build_batches app{01..18}
	[[ $(builds) == "$(echo app{01..16})"$'\napp17 app18' ]]
	run -1 recorded
}

@test "where a batch does not build, each is built by itself, and what fails is recorded" {
	broken=app02
	SERVICES=(app01 app02 app03)
	BUILD_OF=([app01]=app01 [app02]=app02 [app03]=app03)
	run -0 build_batches app01 app02 app03
	[[ $(builds | head -n1) == 'app01 app02 app03' ]]
	[[ $(builds | tail -n +2 | sort) == $'app01\napp02\napp03' ]]
	[[ $(recorded) == 'service-failed a-run app02 build' ]]
	[[ -e $run_dir/raw/services/app02/build.log ]]
}

# shared: services that differ in settings alone, and one that is apart; nothing is here already.
shared() {
	SERVICES=(app-threads1 app-threads8 other)
	BUILD_OF=(["app-threads1"]=app ["app-threads8"]=app [other]=other)
	IMAGE_OF=(["app-threads1"]=bench/app ["app-threads8"]=bench/app [other]=bench/other)
	BASE_OF=(["app-threads1"]=python:3.13-slim ["app-threads8"]=python:3.13-slim [other]=python:3.13-slim)
	missing_bases() { :; }
}

@test "an image that services share is built once" {
	shared
	run -0 build_services
	[[ $(builds) == 'app other' ]]
	run -1 recorded
}

@test "an image that services share and that does not build is a failure of each of them" {
	shared
	broken=app
	run -0 build_services
	[[ $(recorded | sort) == $'service-failed a-run app-threads1 build\nservice-failed a-run app-threads8 build' ]]
	[[ -e $run_dir/raw/services/app-threads8/build.log ]]
}

@test "a run that goes on builds no image that one of its services has begun with" {
	shared
	mkdir -p "$run_dir/raw/services/app-threads8"
	echo sha256:5 >"$run_dir/raw/services/app-threads8/image.id"
	run -0 build_services
	[[ $(builds) == other ]]
	grep -q 'tag sha256:5 bench/app' "$BATS_TEST_TMPDIR/calls"
}

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
