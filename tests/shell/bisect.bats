#!/usr/bin/env bats
# scripts/bisect.sh in a package's repository of eight commits, with fake measurements: output, status and verdict of
# scripts/matrix.sh depend on the commit's subject. No network, no container.

bats_require_minimum_version 1.5.0

load project

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	mkdir "$BATS_FILE_TMPDIR/bin"
	# The newer package decides; $FAKE/KIND has the status and output of matrix.sh.
	cat >"$BATS_FILE_TMPDIR/project/scripts/matrix.sh" <<-'EOS'
		#!/usr/bin/env bash
		set -Eeuo pipefail
		[[ " $* " == *' --list '* ]] || echo "$*" >>"$FAKE/calls"
		[[ ! ${GIT_DIR:-} ]]
		packages=$(grep -oE -- '--package [^ ]+' <<<"$*") newer=${packages##* }
		subject=$(git -C "${newer%@*}" log -1 --format=%s "${newer##*@}")
		kind=$(sed -n "s/^$subject //p" "$FAKE/kinds")
		if [[ $kind == hangs ]]; then
			trap 'echo ended >"$FAKE/ended"; exit 130' TERM
			echo $$ >"$FAKE/hangs"
			sleep 60 & wait
		fi
		[[ ! -e $FAKE/$kind ]] || { read -r status words <"$FAKE/$kind" && echo "${words/NEWER/$newer}" >&2 && exit "$status"; }
		if [[ " $* " == *' --list '* ]]; then
			cat "$FAKE/listed"
		else
			echo "results/$kind/report.md"
		fi
	EOS
	# Replaces `bench bisect`, which judges a run.
	cat >"$BATS_FILE_TMPDIR/bin/python3" <<-'EOS'
		#!/usr/bin/env bash
		[[ "$*" == '-m bench bisect '* ]] || exec "$PYTHON" "$@"
		case $*,$4 in
		*--whole=-0.36,results/slower) echo 'bad: slower, -36.0 %' ;;
		*--whole=-0.36,results/same) echo 'good: equal, +0.1 %' ;;
		*--whole=-0.36,results/open) echo 'skip: no winner, -9.0 %' ;;
		*--whole=-0.36,results/lost) echo 'abort: a: failed verification' ;;
		*--whole*) exit 1 ;;
		*,results/slower) echo '-0.36 slower, -36.0 %' ;;
		*) echo 'bench: nothing to bisect: bad is not shown to be slower than good' >&2 && exit 2 ;;
		esac
	EOS
	chmod +x "$BATS_FILE_TMPDIR/project/scripts/matrix.sh" "$BATS_FILE_TMPDIR/bin/python3"
	PYTHON=$(command -v python3)
	export PYTHON PATH=$BATS_FILE_TMPDIR/bin:$PATH
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git init --quiet --initial-branch main "$BATS_FILE_TMPDIR/pkg"
	cd "$BATS_FILE_TMPDIR/pkg" || return
	mkdir src
	local number
	for number in 1 2 3 4 5 6 7 8; do
		echo "$number" >src/code
		git add --all
		git commit --quiet --message "c$number" --message $'body \e]0;title\a'
		git tag "v$number"
	done
	git switch --quiet --orphan other && git commit --quiet --allow-empty --message other && git switch --quiet main
	echo uncommitted >notes
}

setup() {
	export FAKE=$BATS_TEST_TMPDIR/fake TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$FAKE" "$TMPDIR"
	echo 'table in turns: json  wrk  c16  2 services' >"$FAKE/listed"
	echo '2 bench: --package NEWER: it does not build: error in setup.py' >"$FAKE/unbuilt"
	echo '3 bench: --package: equal sides: a@1 and NEWER give the same files (a==1)' >"$FAKE/equal"
	echo '1 matrix.sh: --package: the wheels cannot be built: no space left' >"$FAKE/full"
	echo '1 matrix.sh: the engine is gone' >"$FAKE/gone"
	cd "$BATS_FILE_TMPDIR/project" || return
	pkg=$BATS_FILE_TMPDIR/pkg
	kinds same same same same slower slower slower slower
}

# kinds KIND...: the kinds of the commits, in order.
kinds() { printf 'c%s\n' "${@/#/$'\t'}" | awk -F'\t' '{ print "c" NR " " $2 }' >"$FAKE/kinds"; }

# bisects STATUS GOOD BAD: scripts/bisect.sh ends with this status and leaves nothing behind; sets output and stderr.
bisects() {
	local before after
	before=$(state_of)
	run "-$1" --separate-stderr scripts/bisect.sh "$2" "$3" --package "$pkg/src" --stack uvicorn-asgi --rounds 6
	after=$(state_of)
	[[ $before == "$after" && -z $(ls -A "$TMPDIR") ]]
}

# state_of: the state of the package's repository that a user sees.
state_of() {
	git -C "$pkg" status --short --branch
	git -C "$pkg" worktree list
	git -C "$pkg" for-each-ref
	[[ ! -e $pkg/.git/BISECT_START ]]
}

@test "the slow commit is found, although another one does not build" {
	kinds same same same unbuilt same slower slower slower
	bisects 0 v1 v8
	local slow
	slow=$(git -C "$pkg" rev-parse v6)
	[[ ${lines[0]} =~ ^[0-9a-f]{7}\ c8:\ bad:\ slower,\ -36.0\ %\;\ results/slower$ ]]
	grep -qE '^[0-9a-f]{7} c4: skip: it does not build: error in setup.py$' <<<"$output"
	grep -qE '^[0-9a-f]{7} c5: good: equal, \+0.1 %; results/same$' <<<"$output"
	grep -qx "$slow is the first bad commit" <<<"$output"
	[[ ${lines[-1]} =~ ^[0-9a-f]{7}\ c6:\ bad:\ slower ]]
	[[ $output == *'body \x1b]0;title\x07'* && $output != *$'\e'* ]]
	# With the given options, always together with the same good commit.
	[[ $(grep -c . "$FAKE/calls") == $(grep -cF -- "--package $pkg/src@$(git -C "$pkg" rev-parse v1) --package $pkg/src@" "$FAKE/calls") ]]
	run ! grep -qvE -- ' --controls none --max-time 10 --stack uvicorn-asgi --rounds 6$' "$FAKE/calls"
	# The whole difference is measured first, and no commit twice.
	grep -m1 . "$FAKE/calls" | grep -qF "@$(git -C "$pkg" rev-parse v8) "
	[[ $(sort -u "$FAKE/calls" | wc -l) == $(wc -l <"$FAKE/calls") ]]
}

@test "a commit that does not change the package is good" {
	kinds same equal equal equal equal equal slower slower
	bisects 0 v1 v8
	[[ $output == *' c4: good: the same files'* && ${lines[-1]} == *' c7: bad: slower'* ]]
}

@test "adjacent commits: nothing more is measured" {
	bisects 0 v4 v5
	[[ $(wc -l <"$FAKE/calls") == 1 && $output == *'is the first bad commit'*'c5: bad: slower'* ]]
}

@test "if skipped commits leave several candidates, they are listed" {
	kinds same same open open open open slower slower
	bisects 1 v1 v8
	[[ $output == *'The first bad commit could be any of:'* && $output == *'c4: skip: no winner, -9.0 %; results/open'* ]]
	local number
	for number in 3 4 5 6 7; do grep -qx "$(git -C "$pkg" rev-parse "v$number")" <<<"$output"; done
	run ! grep -qx "$(git -C "$pkg" rev-parse v8)" <<<"$output"
}

@test "an error that is not the commit's fault ends the bisection" {
	local kind
	for kind in gone lost full; do
		kinds same same same "$kind" slower slower slower slower
		bisects 3 v1 v8
		# shellcheck disable=SC2154 # bats sets it
		[[ ${lines[-1]} == *' c4: abort: '* && $stderr == *'bisect.sh: the bisection stopped; '* && $output != *'first bad'* ]]
	done
	kinds same same same odd slower slower slower slower
	bisects 3 v1 v8
	kinds same same same same slower slower slower gone
	bisects 3 v1 v8
	[[ -z $output && $stderr == *'bisect.sh: the engine is gone' ]]
}

@test "a package that does not build because the engine is gone is not skipped" {
	kinds same same same unbuilt slower slower slower slower
	sed 's/^version) .*/version) exit 1 ;;/' "$BENCH_DOCKER" >"$FAKE/docker"
	cp "$BENCH_DOCKER.source" "$FAKE/docker.source"
	chmod +x "$FAKE/docker"
	BENCH_DOCKER=$FAKE/docker bisects 3 v1 v8
	[[ ${lines[-1]} == *' c4: abort: the Docker daemon does not answer' ]]
}

@test "no bisection without a difference, without a bad commit that builds, or of several comparisons" {
	kinds same same same same same same same same
	bisects 2 v1 v8
	[[ -z $output && $stderr == *'bench: nothing to bisect: bad is not shown to be slower than good' && $(wc -l <"$FAKE/calls") == 1 ]]
	kinds same same same same same same same unbuilt
	bisects 2 v1 v8
	[[ $stderr == *'does not build: error in setup.py' ]]
	kinds same same same same same same same slower
	rm "$FAKE/calls"
	printf 'a  json  wrk  c16\ntable in turns: %s  wrk  c16  2 services\n' json echo >"$FAKE/listed"
	bisects 2 v1 v8
	[[ $stderr == *' --tool and --level: json wrk c16 2 services; echo wrk c16 2 services' && ! -e $FAKE/calls ]]
	echo 'table in turns: json  wrk  c16  4 services' >"$FAKE/listed"
	bisects 2 v1 v8
	: >"$FAKE/listed"
	bisects 2 v1 v8
	[[ ! -e $FAKE/calls ]]
}

@test "an interrupt ends the measurement and leaves nothing" {
	kinds same same same hangs slower slower slower slower
	local before after pid status=0
	before=$(state_of)
	# With job control, as bash otherwise starts background jobs with interrupts ignored.
	set -m
	scripts/bisect.sh v1 v8 --package "$pkg/src" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	pid=$!
	set +m
	until [[ -s $FAKE/hangs ]] || ! kill -0 "$pid"; do sleep 0.05; done
	kill -INT "$pid"
	wait "$pid" || status=$?
	((status == 130))
	[[ $(<"$FAKE/ended") == ended ]]
	run ! kill -0 "$(<"$FAKE/hangs")"
	after=$(state_of)
	[[ $before == "$after" && -z $(ls -A "$TMPDIR") ]]
}

# refuses MESSAGE ARGUMENT...: fails with this one line, and nothing is measured.
refuses() {
	local before after
	before=$(state_of)
	run -2 --separate-stderr scripts/bisect.sh "${@:2}"
	# shellcheck disable=SC2154 # bats sets it
	[[ -z $output && ${#stderr_lines[@]} == 1 && $stderr == "bisect.sh: $1" && ! -e $FAKE/calls ]] || { echo "$*: $stderr" && false; }
	after=$(state_of)
	[[ $before == "$after" ]]
}

@test "what cannot be bisected is refused before anything is measured" {
	refuses 'two commits are needed first: GOOD and BAD; see --help' v1 --package "$pkg"
	refuses 'two commits are needed first: GOOD and BAD; see --help' --package "$pkg" v1 v8
	refuses '--package PATH is needed: the package'\''s folder in its repository; see --help' v1 v8 --stack uvicorn-asgi
	refuses 'give --package once, with one folder; see --help' v1 v8 --package "$pkg" --package "$pkg"
	refuses "--package: there is no folder '$pkg/none'" v1 v8 --package "$pkg/none"
	refuses "--package: '$TMPDIR' is not in a git repository" v1 v8 --package "$TMPDIR"
	refuses "there is no commit 'v9' in $pkg: fetch it first" v1 v9 --package "$pkg"
	refuses "'v8' and 'main' are the same commit" v8 main --package "$pkg"
	refuses "'v1' does not descend from 'v8': give the good commit first, and the bad one must descend from it" v8 v1 --package "$pkg"
	refuses "'v8' does not descend from 'other': give the good commit first, and the bad one must descend from it" other v8 --package "$pkg"
	refuses 'a bisection takes no --resume; see --help' v1 v8 --package "$pkg" --resume a-run
}
