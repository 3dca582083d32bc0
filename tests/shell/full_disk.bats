#!/usr/bin/env bats
# Where results/ cannot be written, that is said before anything is built. The disk is real (a tmpfs). What a disk does that fills
# up in a run: tests/unit/driver/test_room.py.

bats_require_minimum_version 1.5.0

setup() {
	[[ -w /dev/shm && $(stat --file-system --format=%T /dev/shm) == tmpfs ]]
	small=$(mktemp --directory --tmpdir=/dev/shm)
	cd "$small" || return
}

teardown() { rm -rf "$small"; }

@test "results/ that cannot be written is said before anything else is done" {
	# shellcheck source=scripts/lib/room.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/room.sh"
	root=$PWD/project
	mkdir project
	run -0 need_results
	fallocate --length $(($(stat --file-system --format='%a * %S' /dev/shm) - 512 * 1024)) fill
	run -2 need_results
	[[ $output == *": cannot write to $root/results: No space left on device; free some space there, or make it writable for "* && ${#lines[@]} == 1 ]]
	rm fill
	chmod 555 project/results
	run -2 need_results
	[[ $output == *': Permission denied; '* && ${#lines[@]} == 1 ]]
	chmod 755 project/results
	root=/proc
	run -2 need_results
	[[ $output == *'cannot write to /proc/results: '* && ${#lines[@]} == 1 ]]
}
