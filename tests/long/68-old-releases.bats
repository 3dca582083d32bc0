#!/usr/bin/env bats
# Releases that do not run with today's dependencies, and two packages changed together. Uses the package index.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
}

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# measure OPTION...: measures the JSON route for two rounds; sets `run_folder`, and prints report.md.
measure() {
	local report
	report=$(scripts/matrix.sh --controls none --no-latency --scenario json --rounds 2 "$@")
	run_folder=${report%/report.md}
	cat "$report"
}

# figures NAME==VERSION...: counts the records of these packages that have a figure.
figures() { grep -E "\"package\": *\"$*\"" "$run_folder/records.jsonl" | grep -cE '"successes": *[1-9]'; }

@test "gunicorn 20.1 starts, with a setuptools that has pkg_resources" {
	measure --package gunicorn==20.1.0
	grep -E 'in dependencies \(as of 2021-03-28\): .*setuptools 75\.1\.0 \(gunicorn-sync-wsgi-py313-debian: none\)' "$run_folder/report.md"
	(($(figures gunicorn==20.1.0) > 0))
	[[ $(head -n 1 "$run_folder"/raw/services/*-20-1-0-*/packages.txt) == '# dependencies as of 2021-03-28' ]]
}

@test "Flask 2.2 is imported with the Werkzeug of its day" {
	measure --package flask==2.2.0
	grep -E 'in dependencies \(as of 2022-08-03\): .*werkzeug 2\.2\.1 ' "$run_folder/report.md"
	(($(figures flask==2.2.0) > 0))
}

@test "what objects to a version is named, and changed together with it" {
	measure --package werkzeug==2.3.8 --stack gunicorn-sync-flask || true
	run_folder=$(ls -d results/2* | tail -n 1)
	grep -h 'but you have werkzeug 2.3.8: add --with flask==2.3.3' "$run_folder"/raw/services/*-werkzeug-2-3-8-*/failure.json
	measure --package werkzeug==2.3.8 --with flask==2.3.3 --stack gunicorn-sync-flask
	grep -F 'werkzeug 2.3.8 with flask 2.3.3' "$run_folder/report.md"
	(($(figures werkzeug==2.3.8 flask==2.3.3) > 0))
	grep -qiE '^flask==2\.3\.3$' "$run_folder"/raw/services/*-werkzeug-2-3-8-flask-2-3-3-*/packages.txt
}

@test "a ladder is changed together with another package" {
	measure --package 'click==8.1.7,8.1.8,8.2.1' --with flask==3.1.2 --stack gunicorn-sync-flask
	grep -F 'gunicorn-sync-flask by release of click with flask 3.1.2' "$run_folder/report.md"
}
