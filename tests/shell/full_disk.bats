#!/usr/bin/env bats
# A run whose disk fills up at a moment and with so much room left as a seed says: it stops with the cause, no half file counts,
# and with room it goes on to its end. The disk is real (a tmpfs), containers only pretend.

bats_require_minimum_version 1.5.0

load loop

setup() {
	[[ -w /dev/shm && $(stat --file-system --format=%T /dev/shm) == tmpfs ]]
	small=$(mktemp --directory --tmpdir=/dev/shm)
	cd "$small" || return
	export FAKE=$PWD
	make_run <<<'plan = [solo("aiohttp", 1), solo("tornado", 2)]
rates = [3000, 4000]'
	sed -i 's|^echo "the end".*|BENCH_QUIET=1 python3 -m driver report a-run|; /report.md$/d' measure
}

teardown() { rm -rf "$small"; }

# run_filled WORDS KIB: the loop; when docker is asked for WORDS, all but so many KiB of the disk are taken.
run_filled() {
	cat >"$BATS_TEST_TMPDIR/docker" <<-EOS
		#!/usr/bin/env bash
		if [[ "\$*" == *'$1'* && ! -e $small/fill ]]; then
			room=\$((\$(stat --file-system --format='%a * %S' /dev/shm) - $2 * 1024))
			((room <= 0)) || fallocate --length "\$room" $small/fill
		fi
		exec "\$PROJECT/tests/support/fake_docker" "\$@"
	EOS
	chmod +x "$BATS_TEST_TMPDIR/docker"
	BENCH_DOCKER=$BATS_TEST_TMPDIR/docker run --separate-stderr bash loop
	# shellcheck disable=SC2154 # bats sets it
	echo "$1, $2 KiB: status $status; ${stderr##*$'\n'}"
}

@test "a disk that is full at a moment of a run: one line says so, and with room the run goes on to its end" {
	local moments=(' up ' 'OOMKilled' 'measure run' 'bench build') stopped=0 moment left file
	RANDOM=${FULL_DISK_SEED:-18}
	for moment in "${moments[@]}"; do
		left=$((RANDOM % 8 * 4))
		run_filled "$moment" "$left"
		if ((status != 0)); then
			((stopped += 1))
			[[ $stderr == *'No space left on device'* && $output != *report.md* ]]
			[[ $(grep -c 'what is measured is kept in results/a-run; scripts/matrix.sh --resume a-run goes on$' <<<"$stderr") == 1 ]]
		fi
		rm -f fill
		for file in results/a-run/raw/r*/*/*/*/meta.json; do [[ ! -e $file ]] || python3 -m json.tool "$file" >/dev/null; done
		run -0 bash loop
		[[ $(metas) == 'r01/aiohttp-py313-debian/json/wrk-c64 measured
r01/tornado-py313-debian/json/wrk-c64 measured' ]]
		[[ $(grep -c '"valid":true' results/a-run/records.jsonl) == 2 && -s results/a-run/index.html ]]
		[[ ! $(find results -name '.*.*' -type f ! -name .writer) ]]
		rm -rf results/a-run/{raw/r01,records.jsonl,index.html,report.md} asked
	done
	echo "$stopped of ${#moments[@]} moments stopped the run"
	((stopped >= 3))
}

@test "results/ that cannot be written is said before anything else is done" {
	# shellcheck source=scripts/lib/room.sh
	source "$PROJECT/scripts/lib/room.sh"
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
