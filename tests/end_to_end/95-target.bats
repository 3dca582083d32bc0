#!/usr/bin/env bats
# A server that already runs on this machine is measured as it is, and nothing else is ever asked.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	mkdir "$BATS_FILE_TMPDIR/files"
	echo 'hello' >"$BATS_FILE_TMPDIR/files/hello.txt"
	# The port that is free is the server's to choose.
	timeout 300 python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$BATS_FILE_TMPDIR/files" >"$BATS_FILE_TMPDIR/server.log" 2>/dev/null 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/server.pid"
	local port='' i
	for ((i = 0; i < 100; i++)); do
		port=$(sed -nE 's/.* port ([0-9]+) .*/\1/p' "$BATS_FILE_TMPDIR/server.log" | head -n1)
		[[ ! $port ]] || break
		sleep 0.1
	done
	[[ $port ]]
	export PORT=$port
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	any_host
}

teardown() { rm -rf "$BATS_FILE_TMPDIR"/project/results/2*; }

teardown_file() { kill "$(<"$BATS_FILE_TMPDIR/server.pid")" || true; }

@test "a server on the loopback has its row: requests/s and latency, no counters, and what that means" {
	scripts/matrix.sh --target "http://127.0.0.1:$PORT/hello.txt" --duration 1 --rounds 1
	local run
	run=$(the_run)
	cat "$run/report.md"
	grep -qE "^\| c16 \| target-127.0.0.1-$PORT \| [0-9]" "$run/report.md"
	grep -qF -- "- already running: target-127.0.0.1-$PORT is http://127.0.0.1:$PORT, asked for GET /hello.txt. It has no counters" "$run/report.md"
	[[ $(count '"successes": *[1-9]' "$run/records.jsonl") == 2 && $(count '"cpu_per_success_s": *null' "$run/records.jsonl") == 1 ]]
	busy_host_causes "$run"
	grep -q "target-127.0.0.1-$PORT" "$run/index.html"
	[[ ! $(containers_of "$run") ]]
}

@test "what is not on this machine, does not answer or answers with an error is refused in one line" {
	run scripts/matrix.sh --target http://192.0.2.1:8000/
	[[ $status == 2 && ${lines[-1]} == *'192.0.2.1 is not this machine'*'--i-own-this-target' && -z $(compgen -G 'results/2*') ]]
	run scripts/matrix.sh --quiet --target "http://127.0.0.1:$PORT/missing"
	echo "$output"
	[[ $status == 2 && ${lines[-1]} == *"cannot be measured: GET /missing gives 404"* ]]
	run scripts/matrix.sh --quiet --target http://127.0.0.1:1/
	echo "$output"
	[[ $status == 2 && ${lines[-1]} == *"--target http://127.0.0.1:1 does not answer: GET /: connection refused" ]]
	[[ -z $(compgen -G 'results/2*/records.jsonl') && -z $(compgen -G 'results/2*/raw/r*') ]]
}
