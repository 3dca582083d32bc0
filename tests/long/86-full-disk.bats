#!/usr/bin/env bats
# A disk that fills up while a run goes on: it stops with the cause, and with room it goes on to its end. The results folder is a
# small tmpfs, which only root can mount.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
}

teardown_file() { umount "$BATS_FILE_TMPDIR/project/results" 2>/dev/null || true; }

# fill_up: once the first measurement is under way, all but 300 KiB.
fill_up() {
	until compgen -G 'results/2*/raw/r01' >/dev/null; do sleep 0.1; done
	fallocate --length $(($(stat --file-system --format='%a * %S' results) - 300 * 1024)) results/fill
}

@test "a disk that fills up in a run: it stops with the cause, and with room it goes on" {
	((EUID == 0)) || skip "only root mounts a small disk"
	cd "$BATS_FILE_TMPDIR/project"
	mkdir -p results
	mount -t tmpfs -o size=24m tmpfs results
	fill_up 3>&- &
	run scripts/matrix.sh --stack gunicorn-sync-wsgi --rounds 2 --duration 1 --scenario json --tool wrk --level 8 --controls none
	echo "$status: $output"
	wait
	[[ $status == 1 && ${lines[-1]} == *'No space left on device'*"; what is measured is kept in results/2"*"scripts/matrix.sh --resume "*' goes on' ]]
	local run
	run=$(the_run)
	[[ -z $(containers_of "$run") ]]
	# It is not begun again before there is room.
	run -2 scripts/matrix.sh --resume "${run#results/}"
	[[ ${lines[-1]} == *": cannot write to "*": No space left on device; free some space"* ]]
	rm results/fill
	run=$(the_run)
	run -0 scripts/matrix.sh --resume "${run#results/}"
	run=$(the_run)
	# Each that is planned once, and none that only seems whole.
	[[ $(count '"outcome":"measured"' "$run/records.jsonl") == 2 && $(count . "$run/records.jsonl") == 2 ]]
	[[ $(count '"cause":"\(output\|changed\)"' "$run/records.jsonl") == 0 ]]
}
