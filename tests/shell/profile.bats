#!/usr/bin/env bats
# The command line of scripts/profile.sh.

bats_require_minimum_version 1.5.0

@test "what the command line lacks is said in a line" {
	local script=$BATS_TEST_DIRNAME/../../scripts/profile.sh
	run -2 "$script" uvicorn-asgi-py313-debian
	[[ $output == 'profile.sh: which service and paths? see --help' ]]
	run -0 "$script" --help
	[[ $output == 'Usage: scripts/profile.sh SERVICE PATH...'* && $output != *'set -E'* ]]
}
