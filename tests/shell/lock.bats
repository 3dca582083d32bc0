#!/usr/bin/env bats
# scripts/lock.sh with a fake Docker that only records what it should run.

bats_require_minimum_version 1.5.0

setup() {
	export BENCH_DOCKER=$BATS_TEST_TMPDIR/docker ASKED=$BATS_TEST_TMPDIR/asked
	cat >"$BENCH_DOCKER" <<-'EOS'
		#!/usr/bin/env bash
		[[ $1 != run ]] || { printf '%s\n' "$@" >"$ASKED" && exit "${STATUS:-0}"; }
	EOS
	chmod +x "$BENCH_DOCKER"
	lock=$BATS_TEST_DIRNAME/../../scripts/lock.sh
}

@test "uv makes a lock, in a container with minimal rights" {
	run -0 "$lock" --check flask
	[[ $(tail -n 4 "$ASKED") == $'uv=='*$'\nlock\n--check\nflask' ]]
	[[ $(grep -cxE -e '--read-only|--cap-drop|ALL|no-new-privileges' "$ASKED") == 4 ]]
}

@test "--audit runs a pinned pip-audit and ends with its status" {
	STATUS=3 run -3 "$lock" --audit flask
	[[ $(tail -n 3 "$ASKED") == $'pip-audit==2.'*$'\naudit\nflask' ]]
	STATUS=1 run -1 "$lock" --audit
	[[ $(tail -n 1 "$ASKED") == audit ]]
}

@test "an unknown option is refused before anything runs" {
	run -2 "$lock" --audti
	[[ $output == *"unknown argument '--audti'; did you mean --audit? see --help"* && ! -e $ASKED ]]
}
