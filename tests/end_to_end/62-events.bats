#!/usr/bin/env bats
# Events of four servers side by side: one keeps working, two end completely when a worker is killed, one answers with garbage. The
# run is killed in between and resumed.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	cp -r services/frameworks/wsgi services/frameworks/hostile
	cp services/locks/py313/framework-wsgi.txt services/locks/py313/framework-hostile.txt
	cat >>services/frameworks/hostile/app.py <<-'EOF'


		honest, began = app, 0.0


		def app(environ, start_response):
		    """Follows the contract; sends garbage from one second after the first request without a User-Agent."""
		    global began
		    if "HTTP_USER_AGENT" not in environ:
		        began = began or time.monotonic()
		    if began and time.monotonic() > began + 1:
		        environ["gunicorn.socket"].sendall(b"\x00\xff garbage\r\n\r\n")
		        raise ConnectionResetError
		    return honest(environ, start_response)
	EOF
	printf '[frameworks.hostile]\ninterface = "wsgi"\nlacks = { "*" = "only for this test" }\n' >>services/matrix.local.toml
	scripts/generate.sh
	kill_while_loaded
	scripts/matrix.sh --resume "$(the_run)" >"$BATS_FILE_TMPDIR/said" 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

# kill_while_loaded: kills a run when its first event has begun, and waits up to 10 s for its last process; leftovers go to `left`.
kill_while_loaded() {
	local script i
	scripts/matrix.sh --stack 'gunicorn-gthread-wsgi,bjoern-wsgi,granian-wsgi-wsgi,gunicorn-sync-hostile' --event stop,killed --rounds 1 \
		--controls none >/dev/null 2>"$BATS_FILE_TMPDIR/log" 3>&- &
	script=$!
	for ((i = 0; i < 900; i++)); do
		! compgen -G 'results/2*/raw/r01/*/*/*/*/*/.begun' >/dev/null || break
		kill -0 "$script"
		sleep 0.1
	done
	kill -KILL "$script"
	flock --timeout 10 "$(the_run)/.writer" true
	containers_of "$(the_run)" >"$BATS_FILE_TMPDIR/left"
	"$docker" network ls --quiet --filter "name=bench-$(basename "$(the_run)")-" >>"$BATS_FILE_TMPDIR/left"
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# of_events EXPRESSION: evaluates it with `records`, and `found`: records by event and server.
of_events() {
	python3 -c 'import json, sys
records = [json.loads(line) for line in open(sys.argv[1] + "/events.jsonl")]
found = {one["event"] + " " + one["service"].split("-wsgi-")[0].split("-py")[0]: one for one in records}
print(eval(sys.argv[2]))' "$run_folder" "$1"
}

@test "a run that is killed during an event leaves nothing" {
	cat "$BATS_FILE_TMPDIR/left"
	[[ ! -s $BATS_FILE_TMPDIR/left && -z $(containers_of "$run_folder") ]]
}

@test "the resumed run has one record per event, in which every request has exactly one outcome" {
	cat "$BATS_FILE_TMPDIR/log"
	[[ $(<"$BATS_FILE_TMPDIR/said") == "$run_folder/report.md" ]]
	of_events '[(name, one["ended"], one["detail"], one["sent"], one["fates"], one["causes"]) for name, one in found.items()]'
	[[ $(of_events 'len(records), len(found)') == '(8, 8)' && $(count . "$run_folder/plan.jsonl") == 8 ]]
	[[ $(of_events '[name for name, one in found.items() if one["ended"] == "done" and sum(one["fates"].values()) != one["sent"]]') == '[]' ]]
}

@test "the record of a stop says when the server ended" {
	[[ $(of_events 'all(found["stop " + name]["exit_s"] is not None for name in ("gunicorn-gthread", "bjoern", "granian"))') == True ]]
	[[ $(of_events 'found["stop gunicorn-gthread"]["extras"]["long_fate"], found["stop gunicorn-gthread"]["exit_s"] > 4') == "('answered', True)" ]]
}

@test "a killed worker is replaced, or not, or the whole server ends with it" {
	[[ $(of_events 'found["killed gunicorn-gthread"]["happened"] and found["killed gunicorn-gthread"]["extras"]["ended_s"]') == None ]]
	[[ $(of_events '[found["killed bjoern"]["extras"][key] for key in ("restored_s", "ended_s")]') == '[None, None]' ]]
	[[ $(of_events 'found["killed granian"]["extras"]["restored_s"], found["killed granian"]["extras"]["ended_s"] < 5') == '(None, True)' ]]
}

@test "the record of a service that answers with garbage says so" {
	of_events 'found["killed gunicorn-sync-hostile"]'
	[[ $(of_events 'all(one["ended"] == "failed" and one["detail"] or one["fates"].get("answered", 0) < one["sent"] / 2 for name, one in found.items() if "hostile" in name)') == True ]]
}

@test "terminal and report have a table with a row for each event" {
	local event
	for event in stop killed; do
		grep -qE "^ *$event \\((at [^,]*|[^,]*, )?[0-9]+ s\\)  +[a-z]" "$BATS_FILE_TMPDIR/log"
		grep -qE "^\\| $event \\| [^|]+ \\| [^|]+ \\|" "$run_folder/report.md"
	done
}
