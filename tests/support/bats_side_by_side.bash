#!/usr/bin/env bash
#
# Usage: tests/support/bats_side_by_side.bash JOBS SECONDS FILE...
#
# Runs bats test files in the given order, JOBS at a time and each in a single process, and prints one stream of TAP. A file that
# takes longer than SECONDS is ended. Exit status 1 if a test fails. (`bats --jobs` needs GNU parallel, and also runs the tests of one
# file in parallel.)
set -Eeuo pipefail

jobs=$1 seconds=$2 work=$(mktemp -d)
shift 2
trap 'rm -rf "$work"' EXIT

# run_files FILE...: runs the files that no other process has taken, one after the other.
run_files() {
	local file name
	for file; do
		name=${file##*/}
		mkdir "$work/$name" 2>/dev/null || continue
		python3 tests/support/within.py "$seconds" "$name" bats --tap "$file" >"$work/$name.tap" 2>&1 && touch "$work/$name/passed"
	done
}

for ((job = 0; job < jobs; job++)); do run_files "$@" & done
wait
# Join them to one TAP stream; its plan may come last.
cat "$work"/*.tap | awk '/^1\.\.[0-9]+$/ { next } /^(not )?ok [0-9]/ { sub(/[0-9]+/, ++n) } { print } END { print "1.." n }'
mapfile -t passed < <(compgen -G "$work/*/passed")
((${#passed[@]} == $#))
