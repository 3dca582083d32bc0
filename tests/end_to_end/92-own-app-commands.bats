#!/usr/bin/env bats
# The start command that a report gives for the user's own app works without any file of this project.
# shellcheck disable=SC2154 # set in own_app.bash

load common
load own_app

# commands RUN: prints image and start command of each service, as in the report.
commands() {
	"$docker" run --rm --network none --volume "$PWD:$PWD:ro" --workdir "$PWD" --env PYTHONPATH=. bench/loadgen python3 -c '
import json, sys
from bench.run.reader import read_run, read_service
from bench.words.own_app import elsewhere
run = read_run(sys.argv[1])
for name, entry in json.load(open(sys.argv[1] + "/run.json"))["services"].items():
    print(entry["image"], elsewhere(run.facts.own_app, run.facts.service(name), read_service(run.path, name)), sep="\t")' "$1"
}

# answers IMAGE COMMAND: whether the command, run in the app's folder, serves the app. This project is not on Python's path.
# shellcheck disable=SC2016 # the container's shell expands it
answers() {
	"$docker" run --rm --network none --read-only --tmpfs /tmp --tmpfs /srv/app:exec,mode=1777 --env PYTHONPATH= --env APP= --workdir /srv/app "$1" sh -c "$2 & "'
until python3 -c "import urllib.request as u; assert u.urlopen(\"http://127.0.0.1:8080/\").read() == b\"hello\"" 2>/dev/null; do
	sleep 0.2
	kill -0 $! || exit 1
done'
}

# all_start SERVERS COUNT: measures them once, with little load; each of the COUNT services must then start by its command.
all_start() {
	measure --server "$1" --rounds 1 --tool vegeta --level r20 --duration 1
	local image command started=0
	while IFS=$'\t' read -r image command; do
		echo "$command"
		answers "$image" "$command" </dev/null
		started=$((started + 1))
	done < <(commands "$(the_run)")
	[[ $started == "$2" ]]
}

@test "WSGI: gunicorn, waitress, granian, Cheroot and uWSGI" {
	app 'def app(environ, start_response):' '    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])' '    return [b"hello"]'
	mv "$BATS_TEST_TMPDIR/bad/main.py" "$BATS_TEST_TMPDIR/bad/plain.py"
	app 'from plain import app'
	measure() { scripts/matrix.sh --app "$BATS_TEST_TMPDIR/bad" main:app --interface wsgi "${defaults[@]}" "$@"; }
	all_start gunicorn-sync,gunicorn-gthread,waitress,granian-wsgi,cheroot,uwsgi 6
}

@test "ASGI: Daphne with an app; uvicorn, hypercorn and granian with a function that makes the app" {
	app 'async def app(scope, receive, send):' '    if scope["type"] != "http": return' \
		'    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain"), (b"content-length", b"5")]})' \
		'    await send({"type": "http.response.body", "body": b"hello"})' 'def make():' '    return app'
	measure() { scripts/matrix.sh --app "$BATS_TEST_TMPDIR/bad" main:app --interface asgi "${defaults[@]}" "$@"; }
	all_start daphne 1
	rm -r results/2*
	measure() { scripts/matrix.sh --app "$BATS_TEST_TMPDIR/bad" 'main:make()' --interface asgi "${defaults[@]}" "$@"; }
	all_start uvicorn,hypercorn,granian-asgi 3
}
