#!/usr/bin/env bats
# A user's own app: the example, copied to a path with a space, is measured by one command.
# shellcheck disable=SC2154 # set in own_app.bash

load common
load own_app

@test "the shop with Flask is measured, with its database, its environment and its seed, and finds no orders of earlier rounds" {
	cat >>"$shop/flask/main.py" <<-'EOF'
		from sqlalchemy import inspect

		if inspect(engine).has_table("shop_order"):
		    with engine.connect() as connection:
		        orders = connection.scalar(select(func.count()).select_from(Order))
		    assert orders < 20, f"{orders} orders: more than the verification makes"
		    engine.dispose()
	EOF
	scripts/matrix.sh --app "$shop/flask" main:app --targets "$shop/targets.txt" --compose "$shop/compose.yml" --env-file "$shop/shop.env" \
		--before 'python3 seed.py' --server gunicorn-gthread,waitress --cpu-hour-price 0.04 "${defaults[@]}" --rounds 2
	local run
	run=$(the_run)
	grep -A12 '^## Your app' "$run/report.md"
	# Ranks come after six rounds, and figures of a busy machine may not count.
	[[ $(grep -cE '^\| – \| [^|]* \| ([0-9]|–).* \| 16 threads \| [0-9]* threads? \|$' "$run/report.md") == 2 ]]
	busy_host_causes "$run"
	# No file of the run has values of the environment.
	run ! grep -rqF not-a-secret "$run"
	# The app is a single layer that its images share.
	local images
	mapfile -t images < <(python3 -c 'import json, sys; [print(one["image"]) for one in json.load(sys.stdin)["services"].values()]' <"$run/run.json")
	[[ ${#images[@]} == 2 && $(last_layers "${images[@]}" | sort -u | wc -l) == 1 ]]
}

@test "tools that cannot express the targets are left out with a message" {
	run scripts/matrix.sh --app "$shop/flask" main:app --targets "$shop/targets.txt" --tool wrk,ab,hey,vegeta --level 16,r50 --server waitress --list
	echo "$output"
	[[ $output == *"ab sends one request again and again: it cannot mix 4 targets"* && $output == *"mix  vegeta  r50"* ]]
	run scripts/matrix.sh --app "$shop/flask" main:app --targets "$shop/targets.txt" --tool wrk,ab,hey --scenario picture --level 16 --server waitress --dry-run
	[[ $output == *"ab "*"/picture/body-1 -T 'multipart/form-data; boundary=shop'"* && $output == *"hey "*"-T 'multipart"* && $output == *requests.lua* ]]
}

@test "missing files and forbidden settings are refused before anything is built" {
	app 'from flask import Flask' 'app = Flask(__name__)'
	refused_at_once "there is no folder '/nowhere'" scripts/matrix.sh --app /nowhere main:app
	refused_at_once "needs a folder and MODULE:CALLABLE" scripts/matrix.sh --app "$shop"
	refused_at_once "there is no file '/nowhere'" measure --targets /nowhere
	refused_at_once "has no module 'other'" scripts/matrix.sh --app "$shop/flask" other:app
	refused_at_once "needs --app FOLDER" scripts/matrix.sh --targets "$shop/targets.txt"
	refused_at_once "does not go with --preset" measure --preset quick
	echo 'hello' >"$BATS_TEST_TMPDIR/targets.txt"
	refused_at_once "is not a target" measure --targets "$BATS_TEST_TMPDIR/targets.txt"
	printf 'services: {db: {image: x, volumes: ["/var/run/docker.sock:/s"]}, queue: {image: y, privileged: true}}\n' >"$BATS_TEST_TMPDIR/c.yml"
	refused_at_once "outside of the file's own folder; service 'queue' is privileged (privileged); remove that" measure --compose "$BATS_TEST_TMPDIR/c.yml"
	refused_at_once "service 'queue' is privileged" measure --compose "$BATS_TEST_TMPDIR/c.yml:queue"
	refused_at_once "'gcc;x' is not the name of a Debian package" measure --apt 'gcc;x'
	echo 'no-such-package-anywhere==1' >"$BATS_TEST_TMPDIR/bad/requirements.txt"
	refused_at_once "no-such-package-anywhere" measure --server waitress
}
