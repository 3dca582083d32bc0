#!/usr/bin/env bats
# scripts/scaffold.sh on a copy of the project: no network, no container.

bats_require_minimum_version 1.5.0

setup() {
	project=$BATS_TEST_TMPDIR/project
	mkdir "$project"
	cp -r "$BATS_TEST_DIRNAME"/../../{CONTRIBUTING.md,bench,scripts,services} "$project"
	cd "$project" || return
	chmod -R u+w .
	cp services/matrix.toml before.toml
}

# What was refused has left nothing behind.
refuses() { # STATUS MESSAGE ARGUMENT...
	local status=$1 message=$2
	run -"$status" --separate-stderr scripts/scaffold.sh "${@:3}"
	[[ -z $output ]]
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == "scaffold.sh: $message" ]]
	cmp before.toml services/matrix.toml
}

# Names of the stacks that hold NAME.
stacks_of() {
	python3 -c 'import sys
from bench import matrix
print(*(stack for stack in matrix.load().stacks if sys.argv[1] in stack))' "$1"
}

added() { diff before.toml services/matrix.toml | sed -n 's/^> //p'; }

@test "a framework: two files, one line, its services, three steps" {
	run -0 scripts/scaffold.sh framework new-one
	[[ $output == *scripts/lock.sh*scripts/generate.sh*"scripts/verify.sh '*-new-one-py313-debian'" ]]
	[[ $(ls services/frameworks/new-one) == $'app.py\nrequirements.txt' ]]
	[[ $(added) == 'new-one = { interface = "asgi", lacks = { "*" = "not yet offered" } }' ]]
	[[ $(diff before.toml services/matrix.toml | grep -c '^<') == 0 ]]
	[[ " $(stacks_of new-one) " == *' uvicorn-new-one '* ]]
	python3 -m bench generate compose.yml | grep -q '"FRAMEWORK": "new-one", "SERVER": "uvicorn"'
}

@test "a framework for WSGI" {
	scripts/scaffold.sh framework new-one wsgi
	[[ " $(stacks_of new-one) " == *' gunicorn-sync-new-one '* ]]
	[[ " $(stacks_of new-one) " != *' uvicorn-new-one '* ]]
}

@test "a server: two files, one line, its services, three steps" {
	run -0 scripts/scaffold.sh server new-one
	[[ $output == *scripts/lock.sh*scripts/generate.sh*"scripts/verify.sh 'new-one-*-py313-debian'" ]]
	[[ $(ls services/servers/new-one) == $'requirements.txt\nstart' ]]
	[[ -x services/servers/new-one/start ]]
	[[ $(added) == 'new-one = { serves = ["asgi"], style = "async", concurrent = true, model = "..." }' ]]
	[[ " $(stacks_of new-one) " == *' new-one-starlette '* ]]
}

@test "a server for WSGI" {
	scripts/scaffold.sh server new-one wsgi
	[[ " $(stacks_of new-one) " == *' new-one-flask '* ]]
	[[ " $(stacks_of new-one) " != *' new-one-starlette '* ]]
}

@test "both in turn, in the same name" {
	scripts/scaffold.sh server new-one
	scripts/scaffold.sh framework new-one
	[[ $(added | wc -l) == 2 ]]
	[[ " $(stacks_of new-one) " == *' uvicorn-new-one '* ]]
	[[ " $(stacks_of new-one) " == *' new-one '* ]]
}

@test "no file says NAME any more" {
	for kind in server framework; do
		scripts/scaffold.sh "$kind" "new-$kind-a" asgi
		scripts/scaffold.sh "$kind" "new-$kind-w" wsgi
	done
	run -1 grep -rw NAME services/servers/new-* services/frameworks/new-*
	grep -q 'new-framework-w' services/frameworks/new-framework-w/app.py
}

@test "a new app answers the basic routes, and no others" {
	scripts/scaffold.sh framework new-a
	scripts/scaffold.sh framework new-w wsgi
	PYTHONPATH=services run -0 python3 - <<-'EOS'
		import asyncio, runpy

		def asgi(app, path, method="GET"):
		    sent = []
		    async def send(message):
		        sent.append(message)
		    asyncio.run(app({"type": "http", "path": path, "method": method, "query_string": b"duration=5"}, None, send))
		    return sent[0]["status"], sent[1]["body"].decode()

		def wsgi(app, path, method="GET"):
		    status = []
		    environ = {"PATH_INFO": path, "REQUEST_METHOD": method, "QUERY_STRING": "duration=5"}
		    body = b"".join(app(environ, lambda line, headers: status.append(int(line[:3]))))
		    return status[0], body.decode()

		for name, ask in (("new-a", asgi), ("new-w", wsgi)):
		    app = runpy.run_path(f"services/frameworks/{name}/app.py")["app"]
		    assert ask(app, "/") == (200, '{"duration":5}')
		    assert ask(app, "/plaintext") == (200, "Hello, World!")
		    assert ask(app, "/json") == ask(app, "/simple_json") == (200, '{"message":"Hello, World!"}')
		    assert ask(app, "/http-route-example") == (200, "HTTP route response")
		    assert ask(app, "/raw/db")[0] == 404
		    assert ask(app, "/json", "POST")[0] == 405
	EOS
}

@test "bad names" {
	local name
	for name in Flask -x a_b a.b a/b ../x 'a b' ''; do
		refuses 2 "name '$name' is not lower-case letters, digits and '-'" framework "$name"
	done
}

@test "existing names" {
	refuses 2 "there is a framework 'flask' already: services/frameworks/flask" framework flask
	refuses 2 "there is a server 'uvicorn' already: services/servers/uvicorn" server uvicorn
	rm -r services/frameworks/flask
	refuses 2 "services/matrix.toml has 'flask' among its frameworks already, or no table of them" framework flask
	[[ ! -e services/frameworks/flask ]]
}

@test "bad calls" {
	refuses 2 "'' is neither server nor framework, see --help"
	refuses 2 "'thing' is neither server nor framework, see --help" thing new-one
	refuses 2 "a name is needed, and then at most an interface, see --help" server
	refuses 2 "a name is needed, and then at most an interface, see --help" server new-one asgi more
	refuses 2 "interface 'rsgi' is neither asgi nor wsgi; for another one begin with either and mend its line" server new-one rsgi
}

@test "the help is the header comment, and CONTRIBUTING.md names the same steps" {
	run -0 scripts/scaffold.sh --help
	[[ ${lines[0]} == 'Usage: scripts/scaffold.sh server|framework NAME [asgi|wsgi]' ]]
	local step
	for step in 'scripts/scaffold.sh framework NAME' scripts/lock.sh scripts/generate.sh "scripts/verify.sh '*-NAME-py313-debian'"; do
		grep -qF "$step" CONTRIBUTING.md
	done
}
