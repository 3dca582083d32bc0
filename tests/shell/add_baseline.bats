#!/usr/bin/env bats
# scripts/add-baseline.sh on a copy of the project with a history of its own, and that what docs/ say of CI is what the
# scripts take. No network, no container.

bats_require_minimum_version 1.5.0

load project

setup_file() {
	local project=$BATS_FILE_TMPDIR/project
	copy_project "$project" docs .gitignore
	cd "$project" || return
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git init --quiet --initial-branch main
	git add --all --force
	git commit --quiet --message before
	echo '# proposed' >>services/frameworks/starlette/app.py
	echo '# proposed' >>services/servers/uvicorn/start
	echo '# proposed' >>services/locks/py313/framework-starlette.txt
	sed -i 's/^starlette = { /&lacks = { "echo" = "proposed" }, /' services/matrix.toml
	git commit --quiet --all --message proposed
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	git clean --quiet --force -d && git checkout --quiet .
	mkdir -p results
}

# refuses MESSAGE ARGUMENT...: one line that ends with MESSAGE, and nothing left behind.
refuses() {
	local before after
	before=$(everything)
	run -2 --separate-stderr scripts/add-baseline.sh "${@:2}"
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output && ${#stderr_lines[@]} == 1 && $stderr =~ ^(bench|add-baseline.sh):\ (.*)$ && ${BASH_REMATCH[2]} == "$1" ]] ||
		{ echo "$*: $stderr" && false; }
	after=$(everything)
	[[ $before == "$after" ]]
}

# everything: what the project has, to the last byte; results/ too.
everything() { find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum && find results; }

@test "a framework as it was: folder, locks and line, and nothing else" {
	local lock
	run -0 --separate-stderr scripts/add-baseline.sh HEAD~1 framework starlette
	[[ -z $stderr && ${#lines[@]} == 2 && ${lines[0]} == 'starlette-base is the framework starlette as it was.'* ]]
	[[ ${lines[1]} == '  scripts/matrix.sh --stack SERVER-starlette-base,SERVER-starlette --python 3.13 --base debian '*' --level 32' ]]
	local old=$BATS_TEST_TMPDIR/old others
	mkdir "$old"
	git archive HEAD~1 services | tar -x -C "$old"
	mv "$old"/services/frameworks/starlette{,-base}
	for lock in "$old"/services/locks/*/framework-starlette.txt; do mv "$lock" "${lock%.txt}-base.txt"; done
	mapfile -t others < <(git ls-files --others)
	[[ ${#others[@]} == $(git ls-files services/frameworks/starlette 'services/locks/*/framework-starlette.txt' | wc -l) ]]
	for lock in "${others[@]}"; do cmp "$lock" "$old/$lock"; done
	[[ $(git diff -U0 | sed -n '/^[-+]/p') == '--- a/services/matrix.toml
+++ b/services/matrix.toml
+starlette-base = { interface = "asgi" }' ]]
	[[ $(grep -A1 '^starlette-base = ' services/matrix.toml | tail -n1) == 'starlette = { lacks = { "echo" = "proposed" }, interface = "asgi" }' ]]
	[[ -z $(find results -name '.*') ]]
}

@test "a server as it was" {
	run -0 --separate-stderr scripts/add-baseline.sh HEAD~1 server uvicorn
	[[ -z $stderr && ${lines[1]} == '  scripts/matrix.sh --stack uvicorn-base-FRAMEWORK,uvicorn-FRAMEWORK '* ]]
	cmp <(git show HEAD~1:services/servers/uvicorn/start) services/servers/uvicorn-base/start
	[[ -x services/servers/uvicorn-base/start ]]
	python3 -m bench list --stack uvicorn-base-starlette,uvicorn-starlette --python 3.13 --base debian --scenario json \
		--tool wrk --level 32 >plan
	[[ $(head -n2 plan) == 'uvicorn-base-starlette-py313-debian  json  wrk  c32
uvicorn-starlette-py313-debian  json  wrk  c32' ]]
	grep -qx 'table in turns: json  wrk  c32  2 services' plan
}

@test "the name before does the same" {
	{ scripts/add-baseline.sh HEAD~1 framework starlette && git diff && git ls-files --others; } >"$BATS_TEST_TMPDIR/one"
	setup
	{ scripts/beside.sh HEAD~1 framework starlette && git diff && git ls-files --others; } >"$BATS_TEST_TMPDIR/other"
	cmp "$BATS_TEST_TMPDIR"/{one,other}
	run -0 scripts/beside.sh --help
	[[ ${lines[0]} == 'Usage: scripts/add-baseline.sh COMMIT framework|server NAME' && $output != *'set -E'* ]]
}

@test "a warning where what both share differs too" {
	echo '# proposed' >>services/common/contract.py
	run -0 --separate-stderr scripts/add-baseline.sh HEAD~1 framework starlette
	[[ $stderr == 'services/common or a Dockerfile differs as well: both versions use the current one, so that difference is not measured' ]]
}

@test "what cannot be added is refused, and nothing is left" {
	refuses "a commit, a kind and a name are needed; see --help" HEAD framework
	refuses "'app' is neither framework nor server; see --help" HEAD app starlette
	refuses "HEAD has no framework '../x': there is nothing to compare with" HEAD framework ../x
	refuses "name 'django/bench' is not lower-case letters, digits and '-'" HEAD framework django/bench
	refuses "there is no commit 'nowhere' in this clone: fetch it first" nowhere framework starlette
	refuses "HEAD~1 has no framework 'newcomer': there is nothing to compare with" HEAD~1 framework newcomer
	refuses "services/matrix.toml has no line of 'synthetic' in [frameworks]" HEAD framework synthetic
	git rm --quiet -r --cached services/frameworks/flask && mv services/frameworks/flask "$BATS_TEST_TMPDIR/"
	refuses "the framework 'flask' no longer exists here: services/frameworks/flask" HEAD framework flask
	git reset --quiet
	scripts/add-baseline.sh HEAD~1 framework starlette
	refuses "services/frameworks/starlette-base exists already: remove it, and its line in services/matrix.toml" HEAD~1 framework starlette
	rm -r services/frameworks/starlette-base
	refuses "services/matrix.toml already has 'starlette-base' in [frameworks]" HEAD~1 framework starlette
}

@test "the documented workflow plans one table for each scenario, with the old version first" {
	export SERVER=uvicorn NAME=starlette
	scripts/add-baseline.sh HEAD~1 framework "$NAME"
	# The selection as it is written there, its lines joined.
	sed -n '/scripts\/matrix.sh/,/)$/p' docs/github-actions.yml | tr -d '\\\n' | sed 's/.*matrix.sh --quiet \(.*\))$/\1/' >words
	eval "python3 -m bench list $(<words)" >plan
	[[ $(head -n4 plan | cut -d' ' -f1,3) == 'uvicorn-starlette-base-py313-debian json
uvicorn-starlette-py313-debian json
uvicorn-starlette-base-py313-debian queries-20-raw
uvicorn-starlette-py313-debian queries-20-raw' ]]
	[[ $(grep '^table in turns: ' plan) == 'table in turns: json  wrk  c32  2 services
table in turns: queries-20-raw  wrk  c32  2 services' ]]
}

@test "every script and policy that docs name is there" {
	local script
	grep -ohE '\bscripts/[a-z-]+\.sh' docs/ci.md docs/exports.md docs/github-actions.yml | sort -u >scripts.named
	[[ $(wc -l <scripts.named) -ge 3 ]]
	while read -r script; do [[ -x $script ]] || { echo "$script" && false; }; done <scripts.named
	grep -ohE -- '--fail-on [^ `]+' docs/ci.md docs/github-actions.yml | sort -u >policies
	sed -nE 's/^\| .([a-z:0-9%-]+). \| (a verdict|one of|a comparison|two runs) .*/\1/p' docs/ci.md >>policies
	[[ $(wc -l <policies) -ge 6 ]]
	python3 -c 'import sys
from bench.render.pr_comment import parse_policy
for line in sys.stdin: parse_policy(line.split()[-1])' <policies
	run ! python3 -c 'from bench.render.pr_comment import parse_policy
parse_policy("none")'
}
