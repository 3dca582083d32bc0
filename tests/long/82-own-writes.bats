#!/usr/bin/env bats
# An app that writes below its own folder: every container begins with the same files, and nothing is left of what was written.
# shellcheck disable=SC2154 # set in own_app.bash

load ../end_to_end/common
load ../end_to_end/own_app

ROUNDS=1
APPS='bad|my-notes'

# volumes: prints the volumes of runs.
volumes() { "$docker" volume ls --quiet --filter "label=com.docker.compose.volume=app-changes"; }

@test "the example with SQLite finds a thousand notes in every container, in both rounds, and leaves nothing" {
	local notes="$BATS_TEST_TMPDIR/my notes"
	cp -r examples/notes "$notes"
	cat >>"$notes/main.py" <<-'EOT'

		if file.exists():
		    with database() as db:
		        (count,) = db.execute("SELECT count(*) FROM note").fetchone()
		    assert count == 1000, f"{count} notes: those of another container"
	EOT
	scripts/matrix.sh --app "$notes" main:app --targets "$notes/targets.txt" --before 'python3 init.py' \
		--server gunicorn-gthread,waitress --python 3.13,3.14 "${defaults[@]}" --rounds 2
	local run
	run=$(the_run)
	grep -q 'POST /notes' "$run/app/answers.json"
	busy_host_causes "$run"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 8 ]]
	# What was in memory from the start is no memory of the processes.
	cat "$run"/raw/services/*/idle.txt
	[[ $(count '^folder_bytes [1-9][0-9]*$' "$run"/raw/services/*/idle.txt) == 4 ]]
	[[ -z $(volumes) && -z $(containers_of "$run") && ! -e $notes/instance ]]
}

@test "an app that makes its folders on import, and is seeded there; what --before removes is gone" {
	app 'import os, sqlite3' 'from flask import Flask' 'app = Flask(__name__)' 'os.makedirs(app.instance_path, exist_ok=True)' \
		'@app.get("/")' 'def count():' '    assert not os.path.exists("/srv/app/old.db-wal")' \
		'    with sqlite3.connect(os.path.join(app.instance_path, "app.db")) as db:' \
		'        return str(db.execute("SELECT count(*) FROM visits").fetchone()[0])'
	echo flask >"$BATS_TEST_TMPDIR/bad/requirements.txt"
	touch "$BATS_TEST_TMPDIR/bad/old.db-wal"
	printf '%s\n' 'import os, sqlite3, main' 'with sqlite3.connect(main.app.instance_path + "/app.db") as db:' \
		'    db.execute("CREATE TABLE visits (at TEXT)")' 'os.remove("old.db-wal")' >"$BATS_TEST_TMPDIR/bad/seed.py"
	# Without the seed there is no table.
	refused "GET / gives 500" measure --server waitress
	rm -rf results/2*
	measure --server waitress,uwsgi --before 'python3 seed.py' --tool vegeta --level r20 --duration 1
	[[ $(count '"goodput": *[1-9]' "$(the_run)/records.jsonl") == 2 ]]
}

@test "what a large folder has is read-only, and an app may write beside it; no app writes more than 256 MB" {
	app 'import os' 'from flask import Flask' 'app = Flask(__name__)' 'open("new", "w").write("new")' \
		'try: open("large", "ab")' 'except OSError as error: why = error.strerror' \
		'@app.get("/")' 'def index(): return why + open("new").read() + open("large", "rb").read(1).hex()'
	echo flask >"$BATS_TEST_TMPDIR/bad/requirements.txt"
	head --bytes=130M /dev/urandom >"$BATS_TEST_TMPDIR/bad/large"
	run measure --server waitress --tool vegeta --level r20 --duration 1
	echo "$output"
	[[ $status == 0 && $output == *"the app's folder has more than 128 MB: what it has stays read-only"* ]]
	rm "$BATS_TEST_TMPDIR/bad/large"
	app 'open("much", "wb").write(bytes(300 << 20))' 'def app(environ, start_response): ...'
	MEMORY=1g refused "does not import: OSError: [Errno 28] No space left on device" measure --server waitress
}

@test "an interrupted run that goes on prepares the folder anew" {
	local notes="$BATS_TEST_TMPDIR/my notes" log="$BATS_TEST_TMPDIR/log"
	cp -r examples/notes "$notes"
	scripts/matrix.sh --app "$notes" main:app --targets "$notes/targets.txt" --before 'python3 init.py' --server waitress,gunicorn-gthread \
		"${defaults[@]}" --rounds 3 --max-time 0.02 >"$log" 2>&1 || [[ $? == 1 ]]
	grep -q 'the time is up (--max-time)' "$log"
	[[ -z $(volumes) ]]
	local run
	run=$(the_run)
	scripts/matrix.sh --resume "${run##*/}"
	busy_host_causes "$run"
	[[ $(count '"goodput": *[1-9]' "$run/records.jsonl") == 6 ]]
}
