#!/usr/bin/env bats
# A disk that fills up during a run: the run stops and says why; once there is room, it can be resumed. The results folder is a small
# tmpfs, which only root can mount.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
}

teardown_file() { umount "$BATS_FILE_TMPDIR/project/results" 2>/dev/null || true; }

# fill_up: fills all but 300 KiB once the first measurement has begun.
fill_up() {
	for ((i = 0; i < 3000; i++)); do
		! compgen -G 'results/2*/raw/r01' >/dev/null || break
		sleep 0.1
	done
	fallocate --length $(($(stat --file-system --format='%a * %S' results) - 300 * 1024)) results/fill
}

@test "a run on a full disk stops and says why; with room it can be resumed" {
	((EUID == 0)) || skip "only root mounts a small disk"
	cd "$BATS_FILE_TMPDIR/project"
	mkdir -p results
	mount -t tmpfs -o size=24m tmpfs results
	fill_up 3>&- &
	run scripts/matrix.sh --stack gunicorn-sync-wsgi --rounds 2 --duration 1 --scenario json --tool wrk --level 8 --controls none
	echo "$status: $output"
	wait
	[[ $status == 1 && ${lines[-1]} == *'No space left on device'*"; what is measured is kept in results/2"*"scripts/matrix.sh --resume "*' continues it' ]]
	local run
	run=$(the_run)
	[[ -z $(containers_of "$run") ]]
	# It cannot be resumed before there is room.
	run -2 scripts/matrix.sh --resume "${run#results/}"
	[[ ${lines[-1]} == *": cannot write to "*": No space left on device; free some space"* ]]
	rm results/fill
	run=$(the_run)
	run -0 scripts/matrix.sh --resume "${run#results/}"
	run=$(the_run)
	# Each planned measurement once, and no incomplete one.
	[[ $(count '"outcome":"measured"' "$run/records.jsonl") == 2 && $(count . "$run/records.jsonl") == 2 ]]
	[[ $(count '"cause":"\(output\|changed\)"' "$run/records.jsonl") == 0 ]]
}
