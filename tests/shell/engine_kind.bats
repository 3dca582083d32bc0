#!/usr/bin/env bats
# What the scripts make of engines that are not Docker on this machine, with a client that only pretends.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/compose.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/compose.sh"
	unset BENCH_ENGINE_KIND DOCKER_BUILDKIT BENCH_QUIET
	docker=$BATS_TEST_TMPDIR/engine
	export components='Engine;containerd;' told="Debian|$(uname -r)|[name=seccomp,profile=builtin]|true|true"
	cat >"$docker" <<-'EOS'
		#!/bin/sh
		case "$*" in
		version*Components*) echo "$components" ;;
		version*) echo 5.4.2 ;;
		info*) echo "$told" ;;
		esac
	EOS
	chmod +x "$docker"
}

said() {
	check_engine
	say_what_lacks
}

@test "Docker on this machine is nothing special" {
	run said
	[[ $status == 0 && ! $output ]]
	know_engine
	[[ $BENCH_ENGINE_KIND == docker && ! ${DOCKER_BUILDKIT:-} && $(describe_engine) == 5.4.2 ]]
	[[ $(results_user) == "$(id -u):$(id -g)" ]]
}

@test "podman builds with its own builder, and that containers reach the host is said" {
	components='Podman Engine;Conmon;OCI Runtime (crun);Engine;'
	run said
	[[ $status == 0 && ${#lines[@]} == 1 && $output == *'containers reach what listens on this host'* ]]
	know_engine
	[[ $DOCKER_BUILDKIT == 0 && $(describe_engine) == '5.4.2 (podman)' ]]
}

@test "a rootless engine writes results as root of its containers, and one that limits nothing is said" {
	told="Debian|$(uname -r)|[name=seccomp,profile=builtin name=rootless]|false|false"
	run said
	if ((EUID == 0)); then
		[[ $status == 2 && ${#lines[@]} == 1 && $output == *"run it as the engine's user"* ]]
	else
		[[ $status == 0 && ${#lines[@]} == 2 && $output == *'pins no container'*'limits no memory'* ]]
		[[ $(results_user) == 0:0 ]]
	fi
	know_engine
	[[ $(describe_engine) == '5.4.2 (rootless no-cpuset no-memory)' ]]
}

@test "an engine in a virtual machine is known by its name or its kernel" {
	told="Docker Desktop|$(uname -r)|[]|true|true"
	run said
	[[ $status == 0 && ${#lines[@]} == 1 && $output == *'in another machine'* ]]
	told='Alpine Linux|0.0.1-linuxkit|[]|true|true'
	know_engine
	engine_is elsewhere
}

@test "another system than Linux, and a bash that is too old, are said in one line" {
	OSTYPE=darwin23 run -2 "$BATS_TEST_DIRNAME/../../scripts/matrix.sh" --list
	[[ ${#lines[@]} == 1 && $output == *'need Linux'* ]]
}
