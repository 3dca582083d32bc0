#!/usr/bin/env bats
# Errors of a user's own app are reported in one line, with its own traceback if there is one, and limits hold.
# shellcheck disable=SC2154 # set in own_app.bash

load ../end_to_end/common
load ../end_to_end/own_app

# One round is enough to see what happens.
ROUNDS=1
APPS=bad

@test "an app that does not import, lacks the callable, or hangs during import" {
	app 'import missing_module' 'def app(environ, start_response): ...'
	refused "does not import: ModuleNotFoundError: No module named 'missing_module' (main.py, line 1)" measure --server waitress
	[[ $output == *'File "/srv/app/main.py", line 1'* ]]
	app 'def application(environ, start_response): ...'
	refused "'main' has no 'app'; it has: application" measure --interface wsgi --server waitress
	app 'import time' 'time.sleep(99)' 'def app(environ, start_response): ...'
	IMPORT_TIMEOUT=3 refused "does not import: not done after 3 s" measure --server waitress
}

@test "an app whose source does not show its interface is imported, with its variables and the Python that was chosen" {
	local any='lambda environ, start_response: []'
	app 'import os' 'print("wsgi, perhaps")' 'assert os.environ["TOKEN"] == "a b"' "apps = {'mine': $any}" 'app = apps["mine"]'
	echo 'TOKEN="a b"' >"$BATS_TEST_TMPDIR/own.env"
	run measure --server waitress --env-file "$BATS_TEST_TMPDIR/own.env" --list
	echo "$output"
	[[ $status == 0 && $output == *'main:app speaks wsgi (imported: main.<lambda>)'* ]]
	[[ -z $("$docker" image ls --quiet 'bench-planning-*') ]]
	refused_at_once "does not import on Python 3.13: KeyError: 'TOKEN' (main.py, line 3): if that is a variable, give it with --env-file" measure --server waitress
	[[ $output == *'File "/srv/app/main.py", line 3'* ]]
	app 'import socket' 'socket.create_connection(("1.1.1.1", 80), 3)'
	refused_at_once "Network is unreachable" measure
	app 'def app(environ, start_response):' '    try: int("x")' '    except ValueError, TypeError: pass'
	refused_at_once "main.py, line 3, is not valid Python 3.13: mend it, or give --python" measure
	run measure --server waitress --python 3.14 --list
	echo "$output"
	[[ $status == 0 && $output == *'main:app speaks wsgi (imported: main.app)'* ]]
}

@test "an app that answers 500, or differently each time" {
	app 'def app(environ, start_response):' '    raise ValueError("no luck")'
	refused "GET / gives 500" measure --server waitress
	app 'import itertools' 'turn = itertools.cycle(["200 OK", "503 No"])' 'def app(environ, start_response):' \
		'    start_response(next(turn), [("Content-Type", "text/plain")])' '    return [b"x"]'
	refused "gives 200 and 503 in turn" measure --server waitress
}

@test "a redirect is measured only if it is expected, by every tool but ab, and names where it leads" {
	app 'def app(environ, start_response):' '    start_response("302 Found", [("Content-Type", "text/plain"), ("Location", "/done")])' \
		'    return [b""]'
	refused 'GET / gives 302, a redirect to /done; choose other requests with --targets FILE, such as GET /done, or if that is right, give --expect' \
		measure --server waitress
	echo '{"GET /": {"status": 302}}' >"$BATS_TEST_TMPDIR/expect.json"
	measure --server waitress,cheroot --expect "$BATS_TEST_TMPDIR/expect.json" --tool wrk,ab,hey --level c4
	local run
	run=$(ls -d results/2*/ | tail -n 1)
	grep -q '"location": "/done"' "$run/app/answers.json"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 4 ]]
	grep -q 'ab counts redirects as errors' "$run/report.md"
	measure --server waitress --expect "$BATS_TEST_TMPDIR/expect.json" --tool vegeta --level r20 --duration 1
}

@test "an app that needs the internet cannot reach it, and the error says so" {
	app 'import urllib.request' 'def app(environ, start_response):' '    urllib.request.urlopen("http://1.1.1.1/", timeout=3)'
	refused "Network is unreachable" measure --server waitress
}

@test "an app that answers differently on one server is measured only on the others" {
	app 'import os' 'def app(environ, start_response):' '    start_response("200 OK", [("Content-Type", "text/plain")])' \
		'    return [environ.get("SERVER_SOFTWARE", "").encode() if os.environ["SERVER"] == "cheroot" else b"always the same"]'
	measure --server waitress,werkzeug,cheroot
	local run
	run=$(the_run)
	grep -q 'GET /: werkzeug-bad-py313-debian gives 200 text/plain, 15 bytes; here 200 text/plain, [0-9]* bytes' "$run/report.md"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 2 ]]
}

@test "limits hold an app that leaks memory, starts threads and logs without end, and the run ends with a report" {
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

@test "psycopg2 needs Debian packages: the message says which, and with them it is measured; one that Debian lacks is named" {
	app 'import psycopg2' 'from flask import Flask' 'app = Flask(__name__)' '@app.get("/")' 'def index(): return psycopg2.__version__'
	printf 'flask\npsycopg2==2.9.10\n' >"$BATS_TEST_TMPDIR/bad/requirements.txt"
	refused "pg_config executable not found: add --apt 'libpq-dev gcc' (the whole log is in results/" measure --server waitress
	refused "Debian has no package 'libpqq-dev': correct --apt" measure --server waitress --apt libpqq-dev
	measure --server waitress --rounds 1 --tool vegeta --level r20 --duration 1 --apt 'libpq-dev gcc'
}
