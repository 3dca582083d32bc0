#!/usr/bin/env bats
# Services that do not build, do not start, answer wrongly, die in the middle of a window, or give wrong answers from then on.
# Each gets its cause, also in the report, and the rest of the table is measured. The tests add them as frameworks: a folder
# with two files, and an entry in the matrix.

load common

# framework NAME: adds a bare WSGI framework with app.py from standard input.
framework() {
	mkdir "services/frameworks/$1"
	cat >"services/frameworks/$1/app.py"
	: >"services/frameworks/$1/requirements.txt"
	: >"services/locks/py313/framework-$1.txt"
	printf '[frameworks.%s]\ninterface = "wsgi"\nlacks = { "*" = "only for this test" }\n' "$1" >>services/matrix.local.toml
}

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	framework unbuilt </dev/null
	echo 'no-such-package-at-all==1.0 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000' >services/locks/py313/framework-unbuilt.txt
	framework unborn <<<'raise SystemExit("unborn: the app does not load")'
	framework liar <<-'EOF'
		BODY = b'{"message":"Hello, Word!"}'


		def app(environ, start_response):
		    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))])
		    return [BODY]
	EOF
	framework mortal <<-'EOF'
		import os
		import signal

		BODY = b'{"message":"Hello, World!"}'
		asked = 0


		def app(environ, start_response):
		    """Follows the contract, but kills its server after 100 requests without a User-Agent (wrk)."""
		    global asked
		    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
		    asked += "HTTP_USER_AGENT" not in environ
		    if asked > 100:
		        os.kill(os.getppid(), signal.SIGKILL)
		    status = "200 OK" if path == "/json" else "404 Not Found"
		    if status == "200 OK" and method not in ("GET", "HEAD"):
		        status = "405 Method Not Allowed"
		    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
		    start_response(status, headers)
		    return [BODY]
	EOF
	framework turncoat <<-'EOF'
		BODY = b'{"message":"Hello, World!"}'
		asked = 0


		def app(environ, start_response):
		    """Follows the contract, but answers 500 after 100 requests without a User-Agent (wrk)."""
		    global asked
		    asked += "HTTP_USER_AGENT" not in environ
		    status = "200 OK" if environ["PATH_INFO"] == "/json" else "404 Not Found"
		    if status == "200 OK" and environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
		        status = "405 Method Not Allowed"
		    if asked > 100:
		        status = "500 Internal Server Error"
		    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))])
		    return [BODY]
	EOF
	scripts/generate.sh
	READY_TIMEOUT=8 scripts/matrix.sh --stack 'gunicorn-sync-unbuilt,gunicorn-sync-unborn,gunicorn-sync-liar,gunicorn-sync-mortal,gunicorn-sync-turncoat,gunicorn-sync-wsgi' \
		--rounds 1 --scenario json --tool wrk --level 8 --controls none 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# reported SERVICE OUTCOME [CAUSE]: its only record is not valid, with this cause, which is in the report too.
reported() {
	local record
	cat "$BATS_FILE_TMPDIR/log"
	record=$(grep "\"service\": *\"gunicorn-sync-$1-py313-debian\"" "$run_folder/records.jsonl")
	[[ $(wc -l <<<"$record") == 1 ]]
	grep -q '"valid": *false' <<<"$record"
	grep -q "\"outcome\": *\"$2\"" <<<"$record"
	grep -q "\"cause\": *\"${3:-$2}\"" <<<"$record"
	grep -q "${3:-$2}.*gunicorn-sync-$1-py313-debian" "$run_folder/report.md"
}

# said SERVICE WORDS: exactly one line on the terminal says this about the service.
said() { [[ $(grep -c "gunicorn-sync-$1-py313-debian.*: $2" "$BATS_FILE_TMPDIR/log") == 1 ]]; }

@test "a service that does not build" {
	reported unbuilt "build failed"
	said unbuilt "build failed"
}

@test "a service that does not start" {
	reported unborn "did not start"
	said unborn "did not start"
}

@test "a service that answers wrongly is not loaded" {
	local window=$run_folder/raw/r01/b1/json/wrk-c8/w1
	reported liar "failed verification"
	said liar "failed verification"
	[[ -e $window/gunicorn-sync-wsgi-py313-debian/tool.json ]] # another service's: the path is right
	[[ ! -e $window/gunicorn-sync-liar-py313-debian/tool.json ]]
}

@test "a service that dies in the middle of a window" { reported mortal "died"; }

@test "a service that answers wrongly in the middle of a window" { reported turncoat "measured" "errors"; }

@test "the rest of the table is measured" {
	grep '"service": *"gunicorn-sync-wsgi-py313-debian"' "$run_folder/records.jsonl" | grep -q '"valid": *true.*"causes": *\[\]'
	grep -qE '^\[1/1\] round 1, 3 services in turns: json wrk c8: 1 of 3 windows valid; gunicorn-sync-(mortal|turncoat)-py313-debian json: (died|errors): ' "$BATS_FILE_TMPDIR/log"
	[[ -z $(containers_of "$run_folder") ]]
}

@test "verify.sh fails and says which check failed" {
	run -1 scripts/verify.sh gunicorn-sync-liar-py313-debian
	[[ $output == *"not ok - json"* && $output == *"Hello, Word!"* && $output == *"0 passed, 1 failed"* ]]
}
