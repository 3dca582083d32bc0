#!/usr/bin/env bats
# Faults of the reference comparisons, reproduced on purpose: each gets its own cause in the records, and its figures are not
# ranked.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	# Restarts at the first request of hey and takes 4 s to load; until then uvicorn does not listen.
	mkdir services/frameworks/sleeper
	: >services/frameworks/sleeper/requirements.txt
	: >services/locks/py313/framework-sleeper.txt
	cat >services/frameworks/sleeper/app.py <<-'APP'
		import os
		import sys
		import time

		BODY = b'{"message":"Hello, World!"}'
		HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]

		if "STARTED_AGAIN" in os.environ:
		    time.sleep(4)


		async def app(scope, receive, send):
		    """The route /json."""
		    if scope["type"] != "http":
		        return
		    agent = dict(scope["headers"]).get(b"user-agent", b"")
		    if agent.startswith(b"hey") and "STARTED_AGAIN" not in os.environ:
		        os.environ["STARTED_AGAIN"] = "1"
		        os.closerange(3, 1024)
		        os.execv(sys.executable, sys.orig_argv)
		    status = 404 if scope["path"] != "/json" else 200 if scope["method"] in ("GET", "HEAD") else 405
		    await send({"type": "http.response.start", "status": status, "headers": HEADERS})
		    await send({"type": "http.response.body", "body": BODY})
	APP
	cat >>services/matrix.local.toml <<-'LIST'
		[frameworks.sleeper]
		interface = "asgi"
		lacks = { "*" = "only for this test" }

		[presets.not-listening]
		title = "A server that starts again under load; there is no warm-up before it"
		stacks = ["uvicorn-sleeper"]
		warmup = 0
		loads = [{ scenarios = ["json"], tools = ["hey"], levels = ["c16"] }]

		[presets.late-or-500]
		title = "Answers that come after the timeout, or are a 500"
		stacks = ["uvicorn-synthetic"]
		timeout = 1
		loads = [
		  { scenarios = ["late-2000"], tools = ["wrk", "hey"], levels = ["c8"] },
		  { scenarios = ["late-2000"], tools = ["vegeta"], levels = ["r20"] },
		  { scenarios = ["errors-30"], tools = ["wrk", "ab", "hey"], levels = ["c16"] },
		]
	LIST
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	rm -rf results/2*
	hog=''
}

# shellcheck disable=SC2154 # common.bash sets docker
teardown() { [[ ! $hog ]] || "$docker" rm --force "$hog" >/dev/null 2>&1 || true; }

teardown_file() { remove_images '^bench/uvicorn-sleeper-'; }

# measure ARGUMENT...: measures a run without controls; prints its log if it fails.
measure() { scripts/matrix.sh --controls none "$@" 2>"$BATS_TEST_TMPDIR/log" || { cat "$BATS_TEST_TMPDIR/log" && return 1; }; }

# caused TOOL CAUSE WORDS [SCENARIO]: the tool's record is invalid, with this cause and these words.
caused() {
	local record
	record=$(grep "\"scenario\":\"${4:-}" "$(the_run)/records.jsonl" | grep -m1 "\"tool\":\"$1\"")
	grep -o '"outcome":.*"requests"' <<<"$record"
	[[ $record == *'"valid":false'* && $record == *"{\"cause\":\"$2\",\"detail\":\""*"$3"* ]]
	grep -q "^| $2 |" "$(the_run)/report.md"
}

@test "a service that does not listen yet under load: the client's connections are refused" {
	measure --preset not-listening --duration 6
	caused hey "client fault" "connection refused"
}

@test "150 file descriptors for 256 connections: too many open files in the client" {
	NOFILE=150 measure --stack uvicorn-synthetic --scenario json --tool hey --level 256 --duration 1
	caused hey "client fault" "too many open files"
	grep -q '"loadgen_limits":{"nofile":"150"' "$(the_run)/records.jsonl"
}

@test "30 % of the answers are 500 (wrk, ab, hey), or all come after the timeout (wrk, hey, vegeta): errors" {
	measure --preset late-or-500 --duration 1
	local tool
	for tool in wrk ab hey; do caused "$tool" errors "non2xx" errors-30; done
	for tool in wrk hey vegeta; do caused "$tool" errors "attempts" late-2000; done
}

@test "a client on a starved core: loadgen-bound" {
	(($(nproc) > 1)) || skip "server and client have one core here"
	SERVER_CPUS=0 LOADGEN_CPUS=1 DATABASE_CPUS=0 measure --stack uvicorn-synthetic --scenario json --tool wrk --level 16 --duration 3 &
	local run=$!
	# Only from its warm-up to the end of its load, because the hog also starves other tests.
	until compgen -G 'results/2*/raw/r01/*/prepare.txt' || ! kill -0 "$run"; do sleep 0.1; done
	# shellcheck disable=SC2016 # the container's shell expands it
	hog=$("$docker" run --detach --rm --init --network none --cpuset-cpus 1 --cpu-shares 16384 --entrypoint sh bench/loadgen \
		-c 'for i in 1 2 3; do while :; do :; done & done; wait')
	until grep -q '^\[1/1\]' "$BATS_TEST_TMPDIR/log" || ! kill -0 "$run"; do sleep 0.1; done
	"$docker" rm --force "$hog" >/dev/null
	wait "$run"
	caused wrk loadgen-bound "wrk waited for a CPU"
}
