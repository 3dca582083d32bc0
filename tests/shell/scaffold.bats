#!/usr/bin/env bats
# scripts/scaffold.sh on a copy of the project: no network, no container.

bats_require_minimum_version 1.5.0

load project

setup() {
	copy_project "$BATS_TEST_TMPDIR/project" CONTRIBUTING.md
	cd "$BATS_TEST_TMPDIR/project" || return
	cp -r services "$BATS_TEST_TMPDIR/before"
}

# refuses STATUS MESSAGE ARGUMENT...: fails with one line that ends with MESSAGE, and writes nothing.
refuses() {
	run -"$1" --separate-stderr scripts/scaffold.sh "${@:3}"
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output && ${#stderr_lines[@]} == 1 && $stderr =~ ^(bench|scaffold.sh):\ (.*)$ && ${BASH_REMATCH[2]} == "$2" ]] ||
		{ echo "$*: $stderr" && false; }
	diff -r "$BATS_TEST_TMPDIR/before" services
}

# stacks_with NAME: prints the stacks with this server or framework, one per line.
stacks_with() {
	python3 -c 'import sys
from bench.matrix.load import load_matrix
services = load_matrix().services
print(*dict.fromkeys(s.stack for s in services if sys.argv[1] in (s.server.name, s.framework.name)), sep="\n")' "$1"
}

# added: prints files and lines added to services/; removed ones begin with "-".
added() { diff -rU0 "$BATS_TEST_TMPDIR/before" services | sed -E '/^(diff|---|\+\+\+|@@) /d; s|^Only in services/||; s/^\+//'; }

@test "a framework: a folder, its services, three steps" {
	run -0 --separate-stderr scripts/scaffold.sh framework new-one
	[[ -z $stderr && ${#lines[@]} == 4 ]]
	[[ ${lines[0]} == 'services/frameworks/new-one is written. '* ]]
	[[ ${lines[1]} == '  scripts/lock.sh new-one '* && ${lines[2]} == '  scripts/generate.sh '* ]]
	[[ ${lines[3]} == "  scripts/verify.sh '*-new-one-py313-debian'" ]]
	[[ $(added) == 'frameworks: new-one' ]]
	[[ $(ls -A services/frameworks/new-one) == $'app.py\nframework.toml\nrequirements.txt' ]]
	[[ $(stacks_with new-one) == "$(stacks_with asgi | sed 's/-asgi$/-new-one/')" && -n $(stacks_with new-one) ]]
	python3 -m bench generate compose.yml | grep -q '"FRAMEWORK": "new-one", "SERVER": "uvicorn"'
}

@test "a framework for WSGI" {
	scripts/scaffold.sh framework new-one wsgi
	[[ $(added) == 'frameworks: new-one' ]]
	stacks_with new-one >stacks
	grep -qx gunicorn-sync-new-one stacks
	run -1 grep -x uvicorn-new-one stacks
}

@test "a server: a folder, its services, three steps" {
	run -0 --separate-stderr scripts/scaffold.sh server new-one
	[[ -z $stderr && ${#lines[@]} == 4 && ${lines[3]} == "  scripts/verify.sh 'new-one-*-py313-debian'" ]]
	[[ $(added) == 'servers: new-one' ]]
	[[ $(ls -A services/servers/new-one) == $'requirements.txt\nserver.toml\nstart' && -x services/servers/new-one/start ]]
	stacks_with new-one >stacks
	grep -qx new-one-starlette stacks
	run -1 grep -x new-one-flask stacks
}

@test "a server for WSGI" {
	scripts/scaffold.sh server new-one wsgi
	[[ $(added) == 'servers: new-one' ]]
	stacks_with new-one >stacks
	grep -qx new-one-flask stacks
	run -1 grep -x new-one-starlette stacks
}

@test "a server and a framework with the same name" {
	scripts/scaffold.sh server new-one
	scripts/scaffold.sh framework new-one
	[[ $(added) == $'frameworks: new-one\nservers: new-one' ]]
	stacks_with new-one >stacks
	# A stack whose server and framework have the same name has that name.
	grep -qx uvicorn-new-one stacks && grep -qx new-one-starlette stacks && grep -qx new-one stacks
}

@test "the placeholder NAME is replaced in all files" {
	local kind interface files
	for kind in server framework; do
		for interface in asgi wsgi; do
			grep -qrw NAME "services/templates/$kind-$interface"
			scripts/scaffold.sh "$kind" "new-$kind-$interface" "$interface"
			[[ $(grep -rlw "new-$kind-$interface" "services/${kind}s/new-$kind-$interface" | wc -l) == 2 ]]
		done
	done
	files=(services/servers/new-*/* services/frameworks/new-*/*)
	[[ ${#files[@]} == 12 ]]
	run -1 grep -w NAME "${files[@]}"
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
		print("asked", name)
	EOS
	[[ $output == 'asked new-w' ]]
}

@test "bad names" {
	local name
	for name in Flask -x a_b a.b a/b ../x 'a b' ''; do
		refuses 2 "name '$name' is not lower-case letters, digits and '-'" framework "$name"
	done
}

@test "existing names" {
	refuses 2 "there is already a framework 'flask': services/frameworks/flask" framework flask
	refuses 2 "there is already a server 'uvicorn': services/servers/uvicorn" server uvicorn
}

@test "bad calls" {
	refuses 2 "a server or a framework? see --help"
	refuses 2 "'thing' is neither server nor framework; see scripts/scaffold.sh --help" thing new-one
	refuses 2 "give a name, and optionally an interface; see scripts/scaffold.sh --help" server
	refuses 2 "give a name, and optionally an interface; see scripts/scaffold.sh --help" server new-one asgi more
	refuses 2 "interface 'rsgi' is neither asgi nor wsgi: start with one of them, then edit services/servers/new-one/server.toml" server new-one rsgi
}

@test "only services/ is writable besides results/" {
	scripts/scaffold.sh framework new-one
	grep -E ':/bench(/|:|$)' "$BENCH_DOCKER.options" >mounts
	diff mounts - <<-EOS
		$PWD:/bench:ro
		$PWD/results:/bench/results
		$PWD/services:/bench/services
	EOS
}

@test "the help is the header comment, and CONTRIBUTING.md names the same steps" {
	run -0 scripts/scaffold.sh --help
	[[ ${lines[0]} == 'Usage: scripts/scaffold.sh server|framework NAME [asgi|wsgi]' && $output != *'set -E'* ]]
	local step
	for step in 'scripts/scaffold.sh framework NAME' scripts/lock.sh scripts/generate.sh "scripts/verify.sh '*-NAME-py313-debian'"; do
		grep -qF "$step" CONTRIBUTING.md
	done
}
