#!/usr/bin/env bats
# A run whose script gets a hangup before it measures anything. Kills under load: tests/unit/driver/test_hold.py.

bats_require_minimum_version 1.5.0

load project

teardown() { [[ ! ${script:-} ]] || kill -KILL -- "-$script" 2>/dev/null || true; }

@test "a hangup ends a script before there is anything to resume: during planning, and when the run's folder is opened" {
	local status call
	cd "$BATS_TEST_TMPDIR"
	copy_project "$PWD/clone"
	printf '#!/bin/sh\n' >clone/scripts/setup.sh
	for call in 'image ls' 'config --format'; do
		cat >slow-docker <<-EOS
			#!/usr/bin/env bash
			[[ "\$*" != *"$call"* ]] || { : >"$PWD/came" && until [[ -e $PWD/told ]]; do sleep 0.05; done; }
			exec "$PWD/clone-docker" "\$@"
		EOS
		chmod +x slow-docker
		rm -f came told
		set -m
		BENCH_DOCKER=$PWD/slow-docker env --default-signal=INT clone/scripts/matrix.sh --stack aiohttp --scenario json >out 2>&1 3>&- &
		script=$!
		set +m
		until [[ -e came ]] || ! kill -0 "$script"; do sleep 0.05; done
		kill -HUP "$script" || true
		touch told
		status=0
		wait "$script" || status=$?
		cat out
		[[ -e came && $status == 130 ]]
	done
}
