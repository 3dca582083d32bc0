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

@test "an app that answers 500, or differently each time" {
	app 'def app(environ, start_response):' '    raise ValueError("no luck")'
	refused "GET / gives 500" measure --server waitress
	app 'import itertools' 'turn = itertools.cycle(["200 OK", "503 No"])' 'def app(environ, start_response):' \
		'    start_response(next(turn), [("Content-Type", "text/plain")])' '    return [b"x"]'
	refused "gives 200 and 503 in turn" measure --server waitress
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
