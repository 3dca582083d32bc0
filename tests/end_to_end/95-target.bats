#!/usr/bin/env bats
# A server that is already running on this machine is measured; other addresses are refused.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	scripts/setup.sh
	# On the host's loopback, which no bridge network reaches, at a free port.
	# shellcheck disable=SC2154 # common.bash finds docker
	SERVER=$("$docker" run --detach --network host bench/loadgen timeout 300 python3 -u -c '
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Hello(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200 if self.path == "/hello" else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *_):
        pass
ThreadingHTTPServer.request_queue_size = 64
server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
print(server.server_port)
server.serve_forever()')
	export SERVER PORT='' i
	for ((i = 0; i < 100; i++)); do
		PORT=$("$docker" logs "$SERVER")
		[[ ! $PORT ]] || break
		sleep 0.1
	done
	[[ $PORT ]]
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	any_host
}

teardown() { rm -rf "$BATS_FILE_TMPDIR"/project/results/2*; }

teardown_file() { "$docker" rm --force "$SERVER" >/dev/null; }

@test "a server on the loopback gets a row with requests/s and latency; the report says that it has no counters" {
	scripts/matrix.sh --target "http://127.0.0.1:$PORT/hello" --level 4 --duration 2 --rounds 1
	local run
	run=$(the_run)
	cat "$run/report.md"
	busy_host_causes "$run"
	grep -qE "^\| target-127.0.0.1-$PORT \| wrk \| c4 \| " "$run/report.md"
	grep -qF -- "- already running: target-127.0.0.1-$PORT is http://127.0.0.1:$PORT, loaded with GET /hello. It is not a container" "$run/report.md"
	[[ $(count '"successes": *[1-9]' "$run/records.jsonl") == 2 && $(count '"cpu_per_success_s": *null' "$run/records.jsonl") == 1 ]]
	grep -q "target-127.0.0.1-$PORT" "$run/index.html"
	[[ ! $(containers_of "$run") ]]
}

@test "a server on another machine, without an answer or with an error answer is refused in one line" {
	run scripts/matrix.sh --target http://192.0.2.1:8000/
	[[ $status == 2 && ${lines[-1]} == *'192.0.2.1 is not this machine'*'--i-own-this-target' && -z $(compgen -G 'results/2*') ]]
	run scripts/matrix.sh --quiet --target "http://127.0.0.1:$PORT/missing"
	echo "$output"
	[[ $status == 2 && ${lines[-1]} == *'cannot be measured: GET /missing gives 404'* ]]
	run scripts/matrix.sh --quiet --target http://127.0.0.1:1/
	echo "$output"
	[[ $status == 2 && ${lines[-1]} == *'--target http://127.0.0.1:1 does not answer: GET /: connection refused' ]]
	[[ -z $(compgen -G 'results/2*/records.jsonl') && -z $(compgen -G 'results/2*/raw/r*') ]]
}
