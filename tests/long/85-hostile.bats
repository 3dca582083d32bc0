#!/usr/bin/env bats
# Services that harm a run: they never finish an answer (from the start, or only under load), are killed because they run out of
# memory, or lose their name. Each is stopped in time and gets its cause, and the rest is measured.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	mkdir services/frameworks/hostile
	: >services/frameworks/hostile/requirements.txt
	: >services/locks/py313/framework-hostile.txt
	cat >services/frameworks/hostile/app.py <<-'APP'
		import os
		import time

		BODY = b'{"message":"Hello, World!"}'
		HOSTILE = os.environ.get("HOSTILE", "")
		HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		kept = []
		asked = 0

		if HOSTILE == "starved":
		    kept.append(b"x" * (1 << 30))


		def turn_against(connection):
		    """Sends a response that never ends, or that is not valid HTTP."""
		    kind = HOSTILE.partition("_")[0]
		    connection.settimeout(5)
		    if kind == "silent":
		        time.sleep(20)
		    elif kind == "headers":
		        connection.sendall(HEAD)
		        for number in range(200):
		            connection.sendall(b"X-%d: y\r\n" % number)
		            time.sleep(0.1)
		    elif kind == "half":
		        connection.sendall(HEAD + b"Content-Length: 27\r\n\r\n" + BODY[:9])
		        time.sleep(20)
		    elif kind == "length":
		        connection.sendall(HEAD + b"Content-Length: 99\r\n\r\n" + BODY)
		    elif kind == "garbage":
		        connection.sendall(b"\x00\xff garbage\r\n\r\n" * 9)
		    elif kind == "huge":
		        connection.sendall(HEAD + b"Content-Length: 10737418240\r\n\r\n")
		        for _ in range(10 << 10):
		            connection.sendall(bytes(1 << 20))
		    elif kind == "memory":
		        kept.append(b"x" * (1 << 30))


		def app(environ, start_response):
		    """Follows the contract, but turns hostile at once, or after 100 requests without a User-Agent (wrk)."""
		    global asked
		    asked += "HTTP_USER_AGENT" not in environ
		    if HOSTILE.endswith("_later") and asked > 100 or HOSTILE.endswith("_first"):
		        turn_against(environ["gunicorn.socket"])
		        environ["gunicorn.socket"].close()
		        raise SystemExit
		    status = "200 OK" if environ["PATH_INFO"] == "/json" else "404 Not Found"
		    if status == "200 OK" and environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
		        status = "405 Method Not Allowed"
		    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))])
		    return [BODY]
	APP
	printf '[frameworks.hostile]\ninterface = "wsgi"\nlacks = { "*" = "only for this test" }\n' >>services/matrix.local.toml
	scripts/generate.sh
	local kinds=(silent headers half length garbage huge) values
	values=$(IFS=, && echo "${kinds[*]/%/_first},${kinds[*]/%/_later},memory_later,starved,nameless,none" | tr ' ' ,)
	lose_name &
	MEMORY=160m READY_TIMEOUT=6 ANSWER_TIMEOUT=4 timeout 400 scripts/matrix.sh --stack gunicorn-sync-hostile --vary "HOSTILE=$values" --rounds 1 \
		--scenario json --tool wrk --level 8 --controls none 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

# lose_name: disconnects a service from the network once it is under load, so that its name no longer resolves.
lose_name() {
	local container='' network i
	for ((i = 0; i < 1200; i++)); do
		sleep 0.2
		compgen -G 'results/2*/raw/r01/*/services' >/dev/null || continue
		container=$("$docker" ps --quiet --filter "label=com.docker.compose.project.working_dir=$PWD/$(the_run)" --filter name=nameless)
		[[ ! $container ]] || break
	done
	network=$("$docker" inspect --format '{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}' "$container")
	"$docker" network disconnect --force "$network" "$container"
} >/dev/null 2>&1 3>&-

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	run_folder=$(the_run)
}

teardown_file() { remove_images '^bench/gunicorn-sync-hostile-'; }

# caused VALUE PATTERN: the record of this service is invalid, and one of its causes matches.
caused() {
	local record
	record=$(grep "HOSTILE=$1\"" "$run_folder/records.jsonl")
	echo "$1: $(grep -oE '"outcome":"[^"]*"|"causes":\[[^]]*\]' <<<"$record" | tr '\n' ' ')"
	[[ $(wc -l <<<"$record") == 1 && $record == *'"valid":false'* ]]
	grep -qE "$2" <<<"$record"
}

@test "a service that never finishes an answer is not loaded, and curl's error is reported" {
	cat "$BATS_FILE_TMPDIR/log"
	caused silent_first 'did not start.*no answer in 6 s \(curl: \(28\)'
	caused headers_first 'did not start.*no answer in 6 s \(curl: '
	caused half_first 'did not start.*no answer in 6 s \(curl: \(28\)'
	caused length_first 'did not start.*no answer in 6 s \(curl: \(18\)'
	caused garbage_first 'did not start.*no answer in 6 s \(curl: \(1\)'
	caused huge_first 'did not start.*no answer in 6 s \(curl: \(28\)'
}

@test "one that starts this under load gets a cause, and does not block the run" {
	local kind
	for kind in silent headers half length garbage huge; do
		caused "${kind}_later" '"cause":"(errors|server|client fault|output|arithmetic)"'
	done
}

@test "a service that runs out of memory is reported so, at its start and under load" {
	caused starved '"outcome":"out of memory".*killed at its container.s memory limit'
	caused memory_later '"cause":"out of memory","detail":"[^"]*killed by the kernel at the container.s memory limit'
	[[ $(grep -c '^| out of memory |' "$run_folder/report.md") -ge 1 ]]
}

@test "a service whose name no longer resolves gets a cause" { caused nameless '"causes":\[\{"cause":'; }

@test "the rest is measured, and nothing is left" {
	grep 'HOSTILE=none"' "$run_folder/records.jsonl" | grep -q '"valid":true'
	[[ -z $(containers_of "$run_folder") ]]
}
