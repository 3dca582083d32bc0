#!/usr/bin/env bats
# loadgen/measure with the real tools against a small server in the same container.

bats_require_minimum_version 1.5.0

setup_file() {
	cat >"$BATS_FILE_TMPDIR/server.py" <<-'EOS'
		import collections, functools, gzip, http.server, os, time
		seen = collections.Counter()


		@functools.cache
		def packed():
		    return gzip.compress(bytes(128 << 20), compresslevel=1)


		class Handler(http.server.BaseHTTPRequestHandler):
		    protocol_version = "HTTP/1.1"
		    disable_nagle_algorithm = True

		    def answer(self, body, status=200):
		        self.send_response(status)
		        self.send_header("Content-Type", "application/json")
		        self.send_header("Content-Length", str(len(body)))
		        self.send_header("Connection", "close" if self.close_connection else "keep-alive")
		        self.end_headers()
		        self.wfile.write(body)

		    def do_GET(self):
		        if self.path.startswith("/seen"):
		            return self.answer(str(seen["/" + self.path.split("/", 2)[2]]).encode())
		        seen[self.path] += 1
		        if self.path == "/die":
		            os._exit(1) if seen["/die"] > 200 else None
		        if self.path == "/hang" and seen["/hang"] > 20:
		            time.sleep(30)
		        if self.path == "/packed":
		            self.send_response(200)
		            self.send_header("Content-Encoding", "gzip")
		            self.send_header("Content-Length", str(len(packed())))
		            self.end_headers()
		            return self.wfile.write(packed())
		        if self.path in ("/half", "/huge"):
		            self.send_response(200)
		            self.send_header("Content-Length", "99" if self.path == "/half" else str(10 << 30))
		            self.end_headers()
		            self.wfile.write(b"{")
		            self.close_connection = True
		            return None
		        self.answer(b'{"message":"Hello, World!"}', {"/busy": 503, "/none": 404}.get(self.path, 200))

		    def do_POST(self):
		        body = self.rfile.read(int(self.headers["Content-Length"]))
		        kind = self.headers["Content-Type"]
		        self.answer(body, 200 if kind == "application/json" and body == b'{"a":"@\'"}' else 400)

		    def log_message(self, *_):
		        pass


		class Server(http.server.ThreadingHTTPServer):
		    request_queue_size = 256

		    def get_request(self):
		        seen["/connections"] += 1
		        return super().get_request()


		Server(("127.0.0.1", 8080), Handler).serve_forever()
	EOS
	serve
}

serve() {
	python3 "$BATS_FILE_TMPDIR/server.py" 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/pid"
	until curl --silent --fail --output /dev/null http://127.0.0.1:8080/seen/x || ! kill -0 $!; do sleep 0.05; done
}

teardown_file() { kill "$(<"$BATS_FILE_TMPDIR/pid")"; }

setup() {
	root=$BATS_TEST_DIRNAME/../..
	measure=$root/loadgen/measure
	dir=$BATS_TEST_TMPDIR/raw/r01/0001/json/wrk-c8/w1/svc
}

# run_entry CHANGE: prepares and runs the default measurement, changed by a JSON object.
run_entry() {
	jq -nc --arg url "http://${HOST:-127.0.0.1}:8080" --argjson change "$1" '{url: $url, id: "r01-0001", round: 1,
		position: 1, service: "svc", server: "s", framework: "f", python: "3.13", base: "debian", package: null, scenario: "json",
		method: "GET", path: "/json", body: null,
		tool: "wrk", level: "c8", connections: 8, count: null, rate: null, duration_s: 1, timeout_s: 2, threads: 1,
		warmup_s: 0, dir: "raw/r01/0001/json/wrk-c8/w1/svc"} + $change' |
		PYTHONPATH=$root python3 -c '
import json, sys
from pathlib import Path
from bench.plan.measurement import planned_of
from bench.schedule.step_file import write_step
from bench.schedule.steps import Step
write_step(Path(sys.argv[1]), Step(tuple(planned_of(json.loads(line)) for line in sys.stdin)))' "$BATS_TEST_TMPDIR" || return
	"$measure" prepare "$BATS_TEST_TMPDIR" && "$measure" run "$BATS_TEST_TMPDIR"
}

field() { sed -n "s/.*$1 *\([0-9.]*\).*/\1/p" "$dir/output.txt" | head -n 1; }

seen() { curl --silent "http://127.0.0.1:8080/seen$1"; }

without() { [[ $(grep -c "$1" "$dir/output.txt") == 0 ]]; }

healthy() { [[ $(jq -c '[.exit_status, .health_after.status]' "$dir/tool.json") == '[0,200]' ]]; }

@test "wrk for a duration, with and without keep-alive" {
	run_entry '{"warmup_s":0.2}'
	healthy
	(($(sed -n 's/^ *\([0-9]*\) requests in .*/\1/p' "$dir/output.txt") > 100))
	run_entry '{"keepalive":false}'
	healthy
	without 'Socket errors\|Non-2xx'
}

@test "ab by count: the server saw exactly that many requests, plus those of first answer and health check" {
	run_entry '{"tool":"ab","path":"/ab","connections":4,"count":200,"duration_s":null}'
	healthy
	[[ $(field 'Complete requests:') == 200 && $(field 'Keep-Alive requests:') == 200 && $(seen /ab) == 202 ]]
}

@test "ab for a duration runs that long, whatever its default count" {
	run_entry '{"tool":"ab"}'
	healthy
	[[ $(field 'Failed requests:') == 0 && $(field 'Complete requests:') != 50000 ]]
	jq --exit-status --null-input "$(field 'Time taken for tests:') | . >= 1"
}

@test "hey by count, for a duration, and limited to a rate" {
	run_entry '{"tool":"hey","path":"/hey","count":200,"duration_s":null}'
	healthy
	grep -q '\[200\].200 responses' "$dir/output.txt"
	[[ $(seen /hey) == 202 ]]
	run_entry '{"tool":"hey"}'
	healthy
	grep -q '\[200\].' "$dir/output.txt"
	run_entry '{"tool":"hey","rate":80,"path":"/held"}'
	# 80, plus first answer and health check; without the limit it would be a thousand.
	healthy
	(($(seen /held) > 8 && $(seen /held) <= 100))
}

# On a busy machine vegeta starts late and never sends the requests of that delay.
@test "vegeta at a rate: the requests that it reports as sent reached the server, and its reports agree" {
	run_entry '{"tool":"vegeta","connections":null,"rate":100,"path":"/vegeta"}'
	local sent
	sent=$(jq .requests "$dir/output.json")
	healthy
	((sent > 0 && sent <= 100))
	[[ $(jq -c '[.status_codes, .success]' "$dir/output.json") == "[{\"200\":$sent},1]" ]]
	[[ $(seen /vegeta) == $((sent + 2 + $(jq .lead_requests "$dir/tool.json"))) ]]
	grep -q "Status Codes .*200:$sent" "$dir/output.txt"
	[[ $(vegeta report -type=json "$dir/results.bin") == $(<"$dir/output.json") ]]
}

@test "vegeta keeps little of responses that unpack to 128 MiB, and nothing of them in its results" {
	cat >"$BATS_TEST_TMPDIR/measured" <<-EOS
		#!/usr/bin/env python3
		import resource, subprocess, sys
		status = subprocess.run(["$measure", *sys.argv[1:]]).returncode
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, file=open("$BATS_TEST_TMPDIR/most_mib", "w"))
		sys.exit(status)
	EOS
	chmod +x "$BATS_TEST_TMPDIR/measured"
	measure=$BATS_TEST_TMPDIR/measured
	run_entry '{"tool":"vegeta","connections":null,"rate":10,"path":"/packed","timeout_s":20}'
	healthy
	cat "$BATS_TEST_TMPDIR/most_mib"
	(($(<"$BATS_TEST_TMPDIR/most_mib") < 128))
	(($(wc -c <"$dir/results.bin") < 10000))
}

# share_of is that of a load at a common rate, which has at most 64 connections.
@test "vegeta opens its connections before the load, and a stall of the client opens no more" {
	# By the server: other files open connections in the same container.
	opened() { curl --silent --fail http://127.0.0.1:8080/seen/connections; }
	# Those to port 8080 that the client has open.
	at_once() { awk '$3 ~ /:1F90$/ && $4 == "01"' /proc/net/tcp | wc -l; }
	local open before after pid
	run_entry '{"tool":"vegeta","connections":null,"rate":1500,"duration_s":10,"timeout_s":10,"path":"/stall","share_of":"wrk c16"}' &
	# More than those that lead in.
	until (($(seen /stall) > 1000)) || ! kill -0 $!; do sleep 0.05; done
	pid=$(pgrep --exact vegeta-attack)
	open=$(at_once)
	before=$(opened)
	kill -STOP "$pid" && sleep 0.3 && kill -CONT "$pid"
	(($(at_once) <= 64))
	wait $!
	after=$(opened)
	# 450 requests are overdue by then. Beside busy CPUs, what has no connection after 200 ms is opened later: at most the
	# other 16. The health check and the question itself open one each.
	echo "$open open, $((after - before)) more"
	((open > 48 && after - before <= 16 + 2))
	jq --exit-status '.lag_s.max > 0.25' "$dir/lag.json"
}

@test "vegeta keeps to its rate while the server stalls" {
	ANSWER_TIMEOUT=1 run_entry '{"tool":"vegeta","connections":null,"rate":100,"path":"/hang","duration_s":3,"timeout_s":3}'
	# A closed loop on 8 connections would send 16 here.
	[[ $(jq -c '[.requests > 40, .status_codes["0"] > 20]' "$dir/output.json") == '[true,true]' ]]
}

@test "vegeta: send lag and latencies agree with vegeta's own report" {
	run_entry '{"tool":"vegeta","connections":null,"rate":200}'
	jq --exit-status '.requests > 0 and .rate == 200 and .workers == 600 and .in_flight_max >= 1
		and .lag_s.p50 <= .lag_s.p99 and .lag_s.p99 <= .lag_s.max' "$dir/lag.json"
	[[ $(jq '[.requests, (.counts | add), .max_ns] | tojson' "$dir/latencies.json") == "$(jq '[.requests, .requests, .latencies.max] | tojson' "$dir/output.json")" ]]
}

@test "POST with a body that has special characters for a shell or curl" {
	local post='"method":"POST","path":"/echo","body":"{\"a\":\"@'\''\"}"'
	run_entry "{\"tool\":\"ab\",$post}"
	healthy
	without Non-2xx
	run_entry "{\"tool\":\"hey\",$post,\"warmup_s\":0.2}"
	healthy
	without '\[400\]'
	run_entry "{\"tool\":\"vegeta\",$post,\"connections\":null,\"rate\":50}"
	healthy
	[[ $(jq -c '.status_codes | keys' "$dir/output.json") == '["200"]' ]]
}

@test "tool versions are recorded" {
	run_entry '{}'
	[[ $(jq -r .tool_version "$dir/tool.json") =~ ^debian/4\.[0-9.]+ ]]
	run_entry '{"tool":"ab","count":8,"duration_s":null}'
	[[ $(jq -r .tool_version "$dir/tool.json") =~ ^2\.[0-9]+$ ]]
	run_entry '{"tool":"hey","count":8,"duration_s":null}'
	[[ $(jq -r .tool_version "$dir/tool.json") =~ ^0\.[0-9]+\.[0-9]+ ]]
	run_entry '{"tool":"vegeta","connections":null,"rate":5}'
	grep -q "vegeta/v12 v$(jq -r .tool_version "$dir/tool.json")\$" "$BATS_TEST_DIRNAME/../../loadgen/go.mod"
}

@test "the kernel's counters increase while a tool runs" {
	run_entry '{}'
	[[ $(jq '[.after, .before] | map(.proc_stat / " " | map(tonumber? // 0) | add) | .[0] > .[1]' "$dir/tool.json") == true ]]
	jq --exit-status '.after | (.loadgen // {} | length) + (.missing // {} | length) > 0' "$dir/tool.json"
}

@test "a server that stays busy, or has no such route, is not loaded" {
	READY_TIMEOUT=1 run -11 run_entry '{"path":"/busy"}'
	[[ $output == *'got 503: '* && ! -e $dir ]]
	run -11 run_entry '{"path":"/none"}'
	[[ $output == *'expected status 200, got 404'* && ! -e $dir ]]
}

@test "half an answer does not count, and one of 10 GB is not read" {
	READY_TIMEOUT=1 run -10 run_entry '{"path":"/half"}'
	[[ $output == *'gave no answer in 1 s: curl: (18) '* && ! -e $dir ]]
	READY_TIMEOUT=1 run -10 run_entry '{"path":"/huge"}'
	[[ $output == *'gave no answer in 1 s: curl: (63) '* && ! -e $dir ]]
}

@test "an unknown host name or a closed port: did not start" {
	HOST=nobody.invalid READY_TIMEOUT=1 run -10 run_entry '{}'
	[[ $output == *'gave no answer in 1 s: curl: (6) '* ]]
	HOST=127.0.0.2 READY_TIMEOUT=1 run -10 run_entry '{}'
	[[ $output == *'gave no answer in 1 s: curl: (7) '* ]]
}

@test "a full disk: the tool's failure is recorded, and written files stay" {
	[[ -w /full && $(stat --file-system --format=%T /full) == tmpfs ]]
	local small room
	small=$(mktemp --directory --tmpdir=/full)
	cp -r "$BATS_TEST_TMPDIR/." "$small/"
	room=$(($(stat --file-system --format='%a * %S' /full) - 512 * 1024))
	fallocate --length "$room" "$small/fill"
	BATS_TEST_TMPDIR=$small run run_entry '{"tool":"vegeta","connections":null,"rate":2000,"duration_s":30}'
	rm "$small/fill"
	mv "$small/raw" "$BATS_TEST_TMPDIR/" && rm -r "$small"
	echo "$status: $output"
	[[ $status == 12 && $(jq .exit_status "$dir/tool.json") == 1 && -s $dir/results.bin ]]
}

@test "a server that dies under load: the output is kept, and the health check shows it" {
	run run_entry '{"tool":"hey","path":"/die","connections":4}'
	[[ $status == 0 && $(jq -r .health_after.error "$dir/tool.json") == 'curl: (7) '* ]]
	grep -q 'connection refused' "$dir/output.txt"
	serve
}
