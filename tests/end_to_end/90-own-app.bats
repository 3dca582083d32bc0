#!/usr/bin/env bats
# A user's own app: the example, moved elsewhere, into a path with a space, is ranked by one command; whatever is wrong with
# an app is one line, with its own traceback where there is one.
# shellcheck disable=SC2154 # common.bash finds docker

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	cp -r examples/shop "$BATS_FILE_TMPDIR/my shop"
	export DEFAULTS='--rounds 4 --controls none'
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	any_host
	shop="$BATS_FILE_TMPDIR/my shop"
	read -ra defaults <<<"$DEFAULTS"
	export IMPORT_TIMEOUT=10 READY_TIMEOUT=10
}

teardown() { rm -rf "$BATS_FILE_TMPDIR"/project/results/2*; }

teardown_file() { remove_images '^bench/own-[0-9a-f]+-.*-(app-flask|app-fastapi|bad|twin)-'; }

# app LINE...: an app of its own in a folder of its own.
app() {
	mkdir -p "$BATS_TEST_TMPDIR/bad"
	printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/bad/main.py"
}

# last_layers IMAGE...: the last layer of each.
last_layers() {
	"$docker" image inspect --format '{{range .RootFS.Layers}}{{println .}}{{end}}END' "$@" | grep -B2 '^END' | grep '^sha'
}

# measure ARGUMENT...: the app of this test, on a server or two.
measure() { scripts/matrix.sh --app "$BATS_TEST_TMPDIR/bad" main:app "${defaults[@]}" "$@"; }

# refused WORDS COMMAND...: status 2; the last line has WORDS in it.
refused() {
	local words=$1
	shift
	run "$@"
	echo "status $status: $output"
	[[ $status == 2 && ${lines[-1]} == *"$words"* ]]
}

# refused_at_once WORDS COMMAND...: the same, and nothing is built or left.
refused_at_once() {
	refused "$@"
	[[ -z $(compgen -G 'results/2*') && -z $(compgen -G 'results/.app*') ]]
}

@test "which server for the shop with Flask, with its database, its environment and its seed" {
	scripts/matrix.sh --app "$shop/flask" main:app --targets "$shop/targets.txt" --compose "$shop/compose.yml" --env-file "$shop/shop.env" \
		--before 'python3 seed.py' --server gunicorn-sync,gunicorn-gthread,waitress --cpu-hour-price 0.04 "${defaults[@]}"
	local run
	run=$(the_run)
	grep -A12 '^## Your app' "$run/report.md"
	grep -q '^| 1 | .* | 3.13 | [0-9]' "$run/report.md"
	busy_host_causes "$run"
	# The values of the environment are in no file of the run.
	run ! grep -rqF not-a-secret "$run"
	# The app is one layer, which its images share.
	# shellcheck source=/dev/null
	source "$run/services.sh"
	[[ ${#IMAGE_OF[@]} == 3 && $(last_layers "${IMAGE_OF[@]}" | sort -u | wc -l) == 1 ]]
}

@test "the same shop with FastAPI, where an upload and an order count as right" {
	scripts/matrix.sh --app "$shop/fastapi" main:app --targets "$shop/targets.txt" --compose "$shop/compose.yml" --env-file "$shop/shop.env" \
		--before 'python3 seed.py' --server uvicorn,granian-asgi "${defaults[@]}"
	local run
	run=$(the_run)
	grep -q 'POST /pictures' "$run/app/answers.json"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 8 ]]
}

@test "each tool sends what it can express, and of the others it is said that they cannot" {
	run scripts/matrix.sh --app "$shop/flask" main:app --targets "$shop/targets.txt" --tool wrk,ab,hey,vegeta --level 16,r50 --server waitress --list
	echo "$output"
	[[ $output == *"ab sends one request again and again: it cannot mix 4 targets"* && $output == *"mix  vegeta  r50"* ]]
	run scripts/matrix.sh --app "$shop/flask" main:app --targets "$shop/targets.txt" --tool wrk,ab,hey --scenario picture --level 16 --server waitress --dry-run
	[[ $output == *"ab "*"/picture/body-1 -T multipart/form-data"* && $output == *"hey "*"-T multipart"* && $output == *requests.lua* ]]
}

@test "what is not there, and what may not be, is refused before anything is built" {
	app 'from flask import Flask' 'app = Flask(__name__)'
	refused_at_once "there is no folder '/nowhere'" scripts/matrix.sh --app /nowhere main:app
	refused_at_once "needs a folder and MODULE:CALLABLE" scripts/matrix.sh --app "$shop"
	refused_at_once "there is no file '/nowhere'" measure --targets /nowhere
	refused_at_once "has no module 'other'" scripts/matrix.sh --app "$shop/flask" other:app
	refused_at_once "give --app FOLDER" scripts/matrix.sh --targets "$shop/targets.txt"
	refused_at_once "takes no --preset" measure --preset quick
	echo 'hello' >"$BATS_TEST_TMPDIR/targets.txt"
	refused_at_once "is not a target" measure --targets "$BATS_TEST_TMPDIR/targets.txt"
	printf 'services: {db: {image: x, ports: ["5432:5432"]}}\n' >"$BATS_TEST_TMPDIR/c.yml"
	refused_at_once "publishes a port" measure --compose "$BATS_TEST_TMPDIR/c.yml"
	printf 'services: {db: {image: x, volumes: ["/var/run/docker.sock:/s"]}}\n' >"$BATS_TEST_TMPDIR/c.yml"
	refused_at_once "mounts the Docker socket" measure --compose "$BATS_TEST_TMPDIR/c.yml"
	echo 'no-such-package-anywhere==1' >"$BATS_TEST_TMPDIR/bad/requirements.txt"
	refused_at_once "no-such-package-anywhere" measure --server waitress
}

@test "an app that does not import, has no such callable, or hangs while it is imported" {
	app 'import missing_module' 'def app(environ, start_response): ...'
	refused "does not import: ModuleNotFoundError: No module named 'missing_module' (main.py, line 1)" measure --server waitress
	[[ $output == *'File "/srv/app/main.py", line 1'* ]]
	app 'def application(environ, start_response): ...'
	refused "'main' has no 'app'; it has: application" measure --interface wsgi --server waitress
	app 'import time' 'time.sleep(99)' 'def app(environ, start_response): ...'
	IMPORT_TIMEOUT=3 refused "does not import: not done after 3 s" measure --server waitress
}

@test "an app that answers 500, or something else each time" {
	app 'def app(environ, start_response):' '    raise ValueError("no luck")'
	refused "GET / gives 500" measure --server waitress
	app 'import itertools' 'turn = itertools.cycle(["200 OK", "503 No"])' 'def app(environ, start_response):' \
		'    start_response(next(turn), [("Content-Type", "text/plain")])' '    return [b"x"]'
	refused "gives 200 and 503 in turn" measure --server waitress
}

@test "an app that asks the internet has no way out, and says so" {
	app 'import urllib.request' 'def app(environ, start_response):' '    urllib.request.urlopen("http://1.1.1.1/", timeout=3)'
	refused "Network is unreachable" measure --server waitress
}

@test "one that answers otherwise on a server is not measured there, and the others are" {
	app 'import os' 'def app(environ, start_response):' '    start_response("200 OK", [("Content-Type", "text/plain")])' \
		'    return [environ.get("SERVER_SOFTWARE", "").encode() if os.environ["SERVER"] == "cheroot" else b"always the same"]'
	measure --server waitress,werkzeug,cheroot
	local run
	run=$(the_run)
	grep -q 'GET /: werkzeug-bad-py313-debian gives 200 text/plain, 15 bytes; here 200 text/plain, [0-9]* bytes' "$run/report.md"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 8 ]]
}

@test "one that leaks, forks and prints without end is held, and the run goes on to its report" {
	app 'import os, sys, threading, time' 'kept = []' 'def app(environ, start_response):' \
		'    kept.append(bytearray(1 << 20))' '    sys.stderr.write("x" * 100000 + "\n")' \
		'    for _ in range(20):' '        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()' \
		'    start_response("200 OK", [("Content-Type", "text/plain")])' '    return [b"x"]'
	MEMORY=128m PIDS=200 measure --server waitress,cheroot || [[ $? == 1 ]]
	local run
	run=$(the_run)
	grep -qE 'died|errors|server|not answer|did not start|answers wrongly' "$run/report.md"
	[[ $(du -sm "$run" | cut -f1) -lt 50 && -z $(containers_of "$run") ]]
}
