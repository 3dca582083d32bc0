#!/usr/bin/env bash
#
# Usage: tests/support/bats_side_by_side.bash JOBS FILE...
#
# Runs bats test files, JOBS at a time, each whole in one process, and prints one stream of TAP. Those that are given first begin
# first. (`bats --jobs` needs GNU parallel, and runs the tests of a file side by side, too.) Exit status 1 when one fails.
set -Eeuo pipefail

jobs=$1 work=$(mktemp -d)
shift
trap 'rm -rf "$work"' EXIT

# run_files FILE...: one after the other, each that no other process has taken.
run_files() {
	local file name
	for file; do
		name=${file##*/}
		mkdir "$work/$name" 2>/dev/null || continue
		bats --tap "$file" >"$work/$name.tap" 2>&1 && touch "$work/$name/passed"
	done
}

for ((job = 0; job < jobs; job++)); do run_files "$@" & done
wait
# The plan may be the last line.
cat "$work"/*.tap | awk '/^1\.\.[0-9]+$/ { next } /^(not )?ok [0-9]/ { sub(/[0-9]+/, ++n) } { print } END { print "1.." n }'
mapfile -t passed < <(compgen -G "$work/*/passed")
((${#passed[@]} == $#))
