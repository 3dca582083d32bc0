#!/usr/bin/env bats
# scripts/compare.sh on a copy of the project with its own git history: what it checks out, passes to matrix.sh and leaves behind.
# No network, no container.

bats_require_minimum_version 1.5.0

load project

setup_file() {
	local project=$BATS_FILE_TMPDIR/project
	copy_project "$project" docs examples .gitignore
	cd "$project" || return
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	# Replaces matrix.sh: records its arguments and what is checked out, then runs the commands given to `stub`.
	cp scripts/matrix.sh "$BATS_FILE_TMPDIR/matrix.sh"
	# The header stays, because options are looked up in it.
	sed -n '/^#/p; /^set /q' "$BATS_FILE_TMPDIR/matrix.sh" >scripts/matrix.sh
	cat >>scripts/matrix.sh <<-'EOS'
		cd "${BASH_SOURCE[0]%/*}/.." || exit
		printf '%s\n' "$@" >called
		jq -r '.sides[] | [.label, .name, .mark, .commit, .head, .dirty, .place] | @tsv' results/.refs-*/refs.json >sides
		find results/.refs-*/*/ -type f -not -name .git | sort >files
		cat results/.refs-*/*/project/.env >envs
		eval "$(cat ../stub)"
	EOS
	git init --quiet --initial-branch main
	git add --all --force
	git commit --quiet --message before
	git tag before
	echo '# proposed' >>services/frameworks/starlette/app.py
	git rm --quiet -r services/frameworks/bottle
	git commit --quiet --all --message proposed
	scripts/branches.sh 2>/dev/null
	printf '[\n' >>services/matrix.toml
	git commit --quiet --all --message 'no matrix'
	git tag broken
	git reset --quiet --hard HEAD~1
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	git checkout --quiet . && git clean --quiet --force -d
	mkdir -p results
	stub ''
}

# stub COMMANDS: what the fake matrix.sh does.
stub() { printf '%s\n' "$1" >"$BATS_FILE_TMPDIR/stub"; }

teardown() { [[ -z $(left) ]]; }

# left: what a call of compare.sh has left behind.
left() {
	git worktree list --porcelain | grep '^worktree ' | sed 1d
	find results -mindepth 1 -maxdepth 1 -name '.*' -not -name .gitkeep
}

# refuses MESSAGE ARGUMENT...: fails with $expected (2) and one line that ends with MESSAGE; matrix.sh is not called.
refuses() {
	rm -f called
	run "-${expected:-2}" --separate-stderr scripts/compare.sh "${@:2}"
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output && ${#stderr_lines[@]} == 1 && $stderr =~ ^compare.sh:\ (.*)$ && ${BASH_REMATCH[1]} == "$1" && ! -e called ]] ||
		{ echo "$*: $stderr" && false; }
	[[ -z $(left) ]]
}

@test "each ref is checked out while matrix.sh runs, and removed afterwards" {
	run -0 scripts/compare.sh before HEAD --stack uvicorn-starlette
	[[ $(head -n2 called) == $'--stack\nuvicorn-starlette' && $(tail -n1 called) == --sides=results/.refs-* ]]
	[[ $(cut -f1,2,6 sides) == $'before\tbefore\tfalse\nHEAD\thead\tfalse' ]]
	[[ $(cut -f3 sides | tail -n1) == head-$(git rev-parse HEAD | cut -c1-7) && $(cut -f4 sides | head -n1) == $(git rev-parse before) ]]
	[[ $(grep -c '/0/project/services/frameworks/bottle/' files) -gt 1 && $(grep -c '/1/project/services/frameworks/bottle/' files) == 0 ]]
	# Only files that services are made of are checked out.
	[[ $(grep -cvE '/project/(services/|\.env$)' files) == 0 ]]
}

@test "the plan has each service at both refs; services missing at one ref are left out, with a message" {
	# shellcheck disable=SC2016 # for the stub
	stub 'shift $(($# - 1)); python3 -m bench plan "$@" --stack uvicorn-starlette,waitress-bottle --scenario json'
	BENCH_CONTAINERS=1 run -0 --separate-stderr scripts/compare.sh before HEAD
	local run=results/$output name
	grep -qx 'left out: waitress-bottle-py313-debian-before: HEAD has no such service' <<<"$stderr"
	name=uvicorn-starlette-py313-debian
	[[ $(jq -r '.services | keys_unsorted[]' "$run/run.json" | xargs) == "$name-before $name-head" ]]
	grep -q '"context": "results/.refs-[A-Za-z0-9]*/1/project/services"' "$run/services.yml"
	grep -q "image: \"bench/$name-head-$(git rev-parse HEAD | cut -c1-7)\"" "$run/services.yml"
	[[ $(jq -c '[.repository, .paths, .changed]' "$run/refs.json") == '["",["services",".env"],["services/'* ]]
	run ! grep "$PWD" "$run/refs.json"
	rm -r results/2*
}

@test "if a ref's matrix.toml is invalid, the error names the ref" {
	# shellcheck disable=SC2016 # for the stub
	stub 'python3 -m bench list "$@"'
	run -2 --separate-stderr scripts/compare.sh before broken
	[[ ${#stderr_lines[@]} == 1 && $stderr == 'bench: broken cannot be measured by this project: services/matrix.toml is not valid TOML'* ]]
}

@test "the branches of branches.sh differ in their server" {
	# shellcheck disable=SC2016 # for the stub
	stub 'python3 -m bench list "$@"'
	run -0 --separate-stderr scripts/compare.sh sync gevent
	[[ $(head -n2 <<<"$output" | cut -d' ' -f1) == $'gunicorn-sync-flask-py313-debian-sync\ngunicorn-gevent-flask-py313-debian-gevent' ]]
	[[ $(grep '^WORKER_CLASS' envs) == $'WORKER_CLASS=sync\nWORKER_CLASS=gevent' ]]
	# The measurements for the answer, including a few seconds to start containers, take at most four minutes.
	[[ $(tail -n1 <<<"$output") =~ ' to '([0-9]+)' min' ]] && ((BASH_REMATCH[1] <= 4))
}

@test "WORKTREE is the uncommitted state with new files; work tree and index are not changed" {
	local before
	echo '# later' >>services/frameworks/starlette/app.py
	echo new >services/frameworks/starlette/new.txt
	echo '[frameworks]' >services/matrix.local.toml # git ignores it
	git add services/frameworks/starlette/app.py
	echo '# not staged' >>services/frameworks/starlette/app.py
	before=$(git status --porcelain && git diff && git diff --cached)
	stub 'cat results/.refs-*/1/project/services/frameworks/starlette/{new.txt,app.py} >seen'
	run -0 scripts/compare.sh HEAD WORKTREE
	rm called sides files envs
	[[ $(head -n1 seen) == new && $(tail -n2 seen) == $'# later\n# not staged' ]]
	rm seen
	[[ $(git status --porcelain && git diff && git diff --cached) == "$before" ]]
	run -0 scripts/compare.sh HEAD WORKTREE
	[[ $(cut -f1,2,6 sides | tail -n1) == $'WORKTREE\tworktree\ttrue' && $(cut -f5 sides | tail -n1) == $(git rev-parse HEAD) ]]
	local commit
	commit=$(cut -f4 sides | tail -n1)
	scripts/compare.sh HEAD WORKTREE
	[[ $(cut -f4 sides | tail -n1) == "$commit" ]] # the same content is the same commit
	run ! grep -q local.toml files
	git reset --quiet
}

@test "ref names that are not valid in service names" {
	git branch --force 'a/B_c' before
	git branch --force 'a-b-c' HEAD
	run -0 scripts/compare.sh a/B_c a-b-c
	[[ $(cut -f1 sides) == $'a/B_c\na-b-c' && $(cut -f2 sides) == $'a-b-c\na-b-c-'$(git rev-parse HEAD | cut -c1-7) ]]
	run -0 scripts/compare.sh 'HEAD@{0}' before
	[[ $(cut -f1 sides | head -n1) == $(git rev-parse HEAD | cut -c1-12) ]]
}

@test "what cannot be compared is refused before anything is built, and nothing is left" {
	refuses 'two refs are needed, such as main WORKTREE; see --help'
	refuses 'two refs are needed, such as main WORKTREE; see --help' before
	refuses 'two refs are needed, such as main WORKTREE; see --help' before --stack aiohttp
	refuses "there is no commit 'nowhere' in $PWD: fetch it first" before nowhere
	expected=3 refuses 'before and before are equal in services, .env: there is nothing to compare' before before
	expected=3 refuses 'HEAD and WORKTREE are equal in services, .env: there is nothing to compare' HEAD WORKTREE
	refuses '--target does not go with two refs; see --help' before HEAD --target http://127.0.0.1:1
	refuses '--package does not go with two refs; see --help' before HEAD --package aiohttp==3.13.5
	refuses "--app: there is no folder './nowhere'" before HEAD --app ./nowhere main:app
	refuses '--app needs a folder and MODULE:CALLABLE, such as --app ./shop main:app' before HEAD --app ./shop
	refuses "'nothing' is not a run of two refs" --resume nothing
	refuses '--resume does not go with two refs; see --help' before HEAD --resume x
	git -c core.hooksPath=/dev/null commit --quiet --allow-empty --message same
	expected=3 refuses 'HEAD and HEAD~1 are equal in services, .env: there is nothing to compare' HEAD HEAD~1
	git reset --quiet --hard HEAD~1
	git checkout --quiet --orphan empty && git rm --quiet -r --cached . && git commit --quiet --allow-empty --message empty
	git checkout --quiet --force main
	refuses "'empty' has no services/matrix.toml: there is nothing to measure" before empty
}

@test "a folder that is not a git clone is refused" {
	cp -r "$PWD" "$BATS_TEST_TMPDIR/copy"
	cd "$BATS_TEST_TMPDIR/copy"
	rm -rf .git
	run -2 scripts/compare.sh a b
	[[ ${#lines[@]} == 1 && $output == "compare.sh: $PWD is not in a git clone, which two refs need: fatal: not a git repository"* ]]
}

@test "it works when called from a git hook" {
	GIT_DIR=$PWD/.git GIT_INDEX_FILE=$PWD/.git/nowhere GIT_PREFIX=services/ run -0 scripts/compare.sh before HEAD
	[[ $(git -C "$PWD" status --porcelain | grep -cv '^??') == 0 ]]
}

@test "the status and the output are those of matrix.sh" {
	stub 'echo results/x/report.md; exit 1'
	run -1 --separate-stderr scripts/compare.sh before HEAD
	[[ $output == results/x/report.md && -z $stderr ]]
}

# interrupted SIGNAL: sends the signal to a call while matrix.sh runs; the call must end with 130, after matrix.sh.
interrupted() {
	local pid status=0
	rm -f called ended
	stub 'trap "sleep 0.3; echo ended >ended; exit 130" TERM; touch began; sleep 60 & wait'
	env --default-signal=INT scripts/compare.sh before HEAD >/dev/null 2>&1 &
	pid=$!
	until [[ -e began ]]; do sleep 0.05; done
	[[ -n $(left) ]]
	kill "-$1" "$pid"
	wait "$pid" || status=$?
	rm began
	[[ $status == 130 && -e ended ]]
}

@test "after Ctrl-C or SIGTERM nothing is left, and matrix.sh could clean up" {
	interrupted INT
	[[ -z $(left) ]]
	interrupted TERM
}

@test "images of the refs are removed, but not those that another call is using" {
	local mark
	mark=$(git rev-parse before | cut -c1-7)
	# Replaces the fake docker of copy_project: records its calls.
	mv "$BENCH_DOCKER" "$BENCH_DOCKER.real"
	cat >"$BENCH_DOCKER" <<-EOS
		#!/usr/bin/env bash
		echo "\$*" >>"$PWD/asked"
		last=\${*: -1}
		[[ \$* != "image ls"* ]] || echo "bench/x-\${last: -7}:latest"
	EOS
	chmod +x "$BENCH_DOCKER"
	run -0 scripts/compare.sh before HEAD
	grep -qx "image ls --format .* --filter reference=bench/\*-before-$mark" asked
	grep -qx "image rm --force bench/x-$mark:latest" asked
	[[ $(grep -c '^image rm' asked) == 2 ]]
	rm asked
	mkdir results/.refs-other
	jq -n --arg mark "before-$mark" '{sides: [{label: "before", name: "before", mark: $mark, commit: "x", head: "x", dirty: false,
		place: "results/.refs-other/0/project"}]}' >results/.refs-other/refs.json
	run -0 scripts/compare.sh before HEAD
	[[ $(grep -c '^image rm' asked) == 1 ]]
	run ! grep -q "image rm .*$mark" asked
	rm -r results/.refs-other asked
	mv "$BENCH_DOCKER.real" "$BENCH_DOCKER"
}

@test "the next call removes what a killed call has left, unless it is still in use" {
	local pid other
	# shellcheck disable=SC2016 # for the stub
	stub 'echo $$ >pid; exec sleep 60'
	scripts/compare.sh before HEAD >/dev/null 2>&1 3>&- &
	pid=$!
	until [[ -s pid ]]; do sleep 0.05; done
	other=$(<pid)
	stub ''
	kill -KILL "$pid"
	wait "$pid" || true
	run -0 --separate-stderr scripts/compare.sh before HEAD
	[[ -z $stderr && $(left | wc -l) == 3 ]] # two worktrees and their folder, as matrix.sh is still measuring
	kill "$other"
	# In a container, an orphan may stay as a zombie if nobody waits for it.
	while grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$other/status"; do sleep 0.05; done
	rm pid
	run -0 --separate-stderr scripts/compare.sh before HEAD
	[[ $stderr == 'removing what is left of two refs: results/.refs-'* ]]
}

# saved RUN: creates an interrupted run of two refs whose checkouts are gone.
saved() {
	stub "mkdir -p results/$1; cp results/.refs-*/refs.json results/$1/"
	scripts/compare.sh before HEAD
	stub ''
}

@test "a resumed run has the same commits checked out at the same place" {
	saved a-run
	cp sides first
	run -0 scripts/compare.sh --resume results/a-run/ --max-time 5
	[[ $(<called) == $'--resume\nresults/a-run\n--max-time\n5' ]]
	cmp sides first
	[[ $(grep -c '/0/project/services/frameworks/bottle/' files) -gt 1 ]]
	local place
	place=$(head -n1 first | cut -f7)
	mkdir "${place%/*/*}" && touch "${place%/*/*}/lock"
	exec {held}>"${place%/*/*}/lock"
	flock "$held"
	run -2 scripts/compare.sh --resume a-run
	[[ $output == 'compare.sh: a-run is being measured: wait for it, or end it' ]]
	exec {held}>&-
	rm -r "${place%/*/*}"
	rm -r results/a-run first
}

@test "resuming a run whose commit is gone is refused" {
	saved b-run
	sed -i "s/$(git rev-parse HEAD)/1234567890123456789012345678901234567890/" results/b-run/refs.json
	refuses "commit 123456789012 is no longer in $PWD: start a new run" --resume b-run
	rm -r results/b-run
}

@test "matrix.sh --resume hands a run of two refs over to compare.sh" {
	mkdir -p results/c-run
	echo '{}' >results/c-run/refs.json
	printf '#!/usr/bin/env bash\necho "$@"\n' >scripts/compare.sh
	cp "$BATS_FILE_TMPDIR/matrix.sh" scripts/matrix.sh
	run -0 scripts/matrix.sh --quiet --resume results/c-run --max-time 5
	[[ $output == '--resume results/c-run --quiet --max-time 5' ]]
	rm -r results/c-run
}

@test "the user's own app at two refs of its repository" {
	local shop=$BATS_TEST_TMPDIR/shop
	mkdir -p "$shop/src"
	git -C "$BATS_TEST_TMPDIR" init --quiet shop
	echo 'app = 1' >"$shop/src/main.py"
	git -C "$shop" add --all && git -C "$shop" commit --quiet --message one
	echo 'app = 2' >"$shop/src/main.py"
	stub 'cat results/.refs-*/?/*/src/main.py results/.refs-*/?/*/main.py >apps 2>/dev/null || true'
	run -0 scripts/compare.sh HEAD WORKTREE --app "$shop/src" main:app --server waitress
	[[ $(<apps) == $'app = 1\napp = 2' ]]
	[[ $(sed -n '1p;3,4p;6p;8,9p' called) == $'--app\nmain:app\n--head\n--origin\n--server\nwaitress' ]]
	[[ $(sed -n 2p called) == "$PWD"/results/.refs-*/0/project/src && $(sed -n 5p called) == "$PWD"/results/.refs-*/1/project/src ]]
	[[ $(git -C "$shop" worktree list | wc -l) == 1 ]]
	expected=3 refuses 'HEAD and HEAD are equal in src: there is nothing to compare' HEAD HEAD --app "$shop/src" main:app
	git -C "$shop" mv src/main.py main.py
	run -0 scripts/compare.sh HEAD WORKTREE --app "$shop" main:app
	[[ $(sed -n 2p called) == */0/shop/ ]] # the app is named after the folder
}

@test "the documented workflow plans one table for each scenario, with the old version first" {
	local words
	export STACK=uvicorn-starlette BASE=before
	# shellcheck disable=SC2016 # for the stub
	stub 'python3 -m bench list "$@"'
	# The command from that file, with its lines joined.
	# shellcheck disable=SC2016 # must not be expanded
	words=$(sed -n '/report=\$(scripts\/compare.sh/,/)$/p' docs/github-actions.yml | tr -d '\\\n' | sed 's/.*report=\$(\(.*\))$/\1/')
	eval "$words" >plan
	[[ $(head -n4 plan | cut -d' ' -f1,3) == 'uvicorn-starlette-py313-debian-before json
uvicorn-starlette-py313-debian-head json
uvicorn-starlette-py313-debian-before queries-20-raw
uvicorn-starlette-py313-debian-head queries-20-raw' ]]
	[[ $(grep '^table in turns: ' plan) == 'table in turns: json  wrk  c32  2 services
table in turns: queries-20-raw  wrk  c32  2 services' ]]
	# And the first example of docs/ci.md, with these refs.
	words=$(sed -n 's/^\.\/\(scripts\/compare.sh\) origin\/main/\1 before/p' docs/ci.md)
	eval "$words" >plan
	[[ $(head -n2 plan | cut -d' ' -f1,3) == 'uvicorn-starlette-py313-debian-before json
uvicorn-starlette-py313-debian-head json' ]]
}

@test "every script and policy that the docs name exists" {
	local script
	grep -ohE '\bscripts/[a-z-]+\.sh' docs/ci.md docs/exports.md docs/github-actions.yml | sort -u >scripts.named
	[[ $(wc -l <scripts.named) -ge 3 ]]
	while read -r script; do [[ -x $script ]] || { echo "$script" && false; }; done <scripts.named
	grep -ohE -- '--fail-on [^ `]+' docs/ci.md docs/github-actions.yml | sort -u >policies
	sed -nE 's/^\| .([a-z:0-9%-]+). \| (a verdict|one of|a comparison) .*/\1/p' docs/ci.md >>policies
	[[ $(wc -l <policies) -ge 5 ]]
	python3 -c 'import sys
from bench.render.pr_comment import parse_policy
for line in sys.stdin: parse_policy(line.split()[-1])' <policies
	run ! python3 -c 'from bench.render.pr_comment import parse_policy
parse_policy("none")'
}
