#!/usr/bin/env bats
# What was beside what is proposed: scripts/add-baseline.sh on a copy of the project with a history of its own, and that what
# docs/ say of CI is what the scripts take. No network, no container.

bats_require_minimum_version 1.5.0

setup_file() {
	project=$BATS_FILE_TMPDIR/project
	mkdir "$project"
	cp -r "$BATS_TEST_DIRNAME"/../../{.env,docs,loadgen,bench,scripts,services,docker-compose.yml,postgres,upstream} "$project"
	cd "$project" || return
	chmod -R u+w .
	rm -f services/.env
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
}

refuses() { # MESSAGE ARGUMENT...
	run -2 --separate-stderr scripts/add-baseline.sh "${@:2}"
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output && $stderr == "add-baseline.sh: $1" ]]
	[[ -z $(git status --porcelain) ]]
}

@test "a framework as it was: folder, locks and line, and nothing of what is proposed" {
	run -0 --separate-stderr scripts/add-baseline.sh HEAD~1 framework starlette
	[[ $stderr == *"--stack SERVER-starlette-base,SERVER-starlette --python 3.13 --base debian"* ]]
	diff -r <(git show HEAD~1:services/frameworks/starlette/app.py) services/frameworks/starlette-base/app.py
	cmp <(git show HEAD~1:services/locks/py313/framework-starlette.txt) services/locks/py313/framework-starlette-base.txt
	[[ $(compgen -G 'services/locks/*/framework-starlette-base.txt' | wc -l) == $(compgen -G 'services/locks/*/framework-starlette.txt' | wc -l) ]]
	[[ $(grep -A1 '^starlette-base = ' services/matrix.toml) == $'starlette-base = { interface = "asgi" }\nstarlette = { lacks = { "echo" = "proposed" }, interface = "asgi" }' ]]
	[[ -z $(git diff -- services/frameworks services/locks) ]]
}

@test "a server as it was" {
	scripts/add-baseline.sh HEAD~1 server uvicorn
	cmp <(git show HEAD~1:services/servers/uvicorn/start) services/servers/uvicorn-base/start
	[[ -x services/servers/uvicorn-base/start ]]
	python3 -m bench list --stack uvicorn-starlette,uvicorn-base-starlette --python 3.13 --base debian --scenario json \
		--tool wrk --level 32 --mode duet |
		grep -qx 'pair: uvicorn-base-starlette-py313-debian  uvicorn-starlette-py313-debian  json  wrk  c32'
}

@test "what both share is said where it differs too" {
	run -0 --separate-stderr scripts/add-baseline.sh HEAD~1 framework starlette
	[[ $stderr != *differs* ]]
	git clean --quiet --force -d && git checkout --quiet .
	echo '# proposed' >>services/common/contract.py
	run -0 --separate-stderr scripts/add-baseline.sh HEAD~1 framework starlette
	[[ $stderr == *"services/common or a Dockerfile differs too: both have what is here, and that difference is not measured"* ]]
}

@test "what cannot be put beside is refused, and nothing is left" {
	refuses "a commit, a kind and a name are needed, see --help" HEAD framework
	refuses "'app' is neither framework nor server, see --help" HEAD app starlette
	refuses "name '../x' is not lower-case letters, digits and '-'" HEAD framework ../x
	refuses "there is no commit 'nowhere' in this clone: fetch it first" nowhere framework starlette
	refuses "HEAD~1 has no framework 'newcomer': there is nothing to compare with" HEAD~1 framework newcomer
	scripts/add-baseline.sh HEAD~1 framework starlette
	run -2 scripts/add-baseline.sh HEAD~1 framework starlette
	[[ $output == *"starlette-base is there already"* ]]
}

@test "the documented workflow plans one pair for each scenario, and what was is the first of it" {
	export SERVER=uvicorn NAME=starlette
	scripts/add-baseline.sh HEAD~1 framework "$NAME"
	# The selection as it stands there, its lines joined.
	sed -n '/scripts\/matrix.sh/,/)$/p' docs/github-actions.yml | tr -d '\\\n' | sed 's/.*matrix.sh --quiet \(.*\))$/\1/' >words
	eval "python3 -m bench list $(<words)" >plan
	[[ $(grep '^pair: ' plan) == 'pair: uvicorn-starlette-base-py313-debian  uvicorn-starlette-py313-debian  json  wrk  c32
pair: uvicorn-starlette-base-py313-debian  uvicorn-starlette-py313-debian  queries-20-raw  wrk  c32' ]]
}

@test "every script and policy that docs name is there" {
	grep -ohE '\bscripts/[a-z-]+\.sh' docs/ci.md docs/exports.md docs/github-actions.yml | sort -u >scripts.named
	[[ $(wc -l <scripts.named) -ge 3 ]]
	while read -r script; do [[ -x $script ]]; done <scripts.named
	grep -ohE -- '--fail-on [^ `]+' docs/ci.md docs/github-actions.yml | sort -u >policies
	sed -nE 's/^\| .([a-z:0-9%-]+). \| (a verdict|a pair|two runs) .*/\1/p' docs/ci.md >>policies
	[[ $(wc -l <policies) -ge 6 ]]
	python3 -c 'import sys
from bench.pr_comment import parse_policy
for line in sys.stdin: parse_policy(line.split()[-1])' <policies
}
