#!/usr/bin/env bats
# The steps of action.yml, executed like a GitHub runner in a clone of another repository, with fake runs. No network, no container.

bats_require_minimum_version 1.5.0

load project
load ../support/runner

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project" docs
	local support
	support=$(realpath "$BATS_TEST_DIRNAME/../support")
	# A fake run: $FAKE/head has the head's requests/s, the base has 4000.
	cat >"$BATS_FILE_TMPDIR/project/scripts/matrix.sh" <<-EOS
		#!/usr/bin/env bash
		set -Eeuo pipefail
		printf '%s\n' "\$@" >"\$FAKE/words"
		[[ ! -e \$FAKE/refusal ]] || { read -r status words <"\$FAKE/refusal" && echo "\$words" >&2 && exit "\$status"; }
		cd "$BATS_FILE_TMPDIR/project"
		python3 $support/compared_runs.py "results/\$(<"\$FAKE/head")" 4000 "\$(<"\$FAKE/head")"
		echo "results/\$(<"\$FAKE/head")/report.md"
	EOS
	chmod +x "$BATS_FILE_TMPDIR/project/scripts/matrix.sh"
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	# Like GitHub's merge commit for a pull request whose base branch has moved on.
	git init --quiet --initial-branch main "$BATS_FILE_TMPDIR/origin"
	cd "$BATS_FILE_TMPDIR/origin" || return
	mkdir src
	echo 1 >src/one && git add . && git commit --quiet --message began
	git switch --quiet --create request
	echo 2 >src/two && git add . && git commit --quiet --message proposed
	git switch --quiet main
	echo 3 >src/three && git add . && git commit --quiet --message base
	git tag base
	git merge --quiet --no-ff --message merge request
	git clone --quiet --depth 2 "file://$PWD" "$BATS_FILE_TMPDIR/workspace"
}

setup() {
	export FAKE=$BATS_TEST_TMPDIR/fake GITHUB_REF=refs/pull/7/merge
	mkdir "$FAKE"
	root=$BATS_TEST_DIRNAME/../..
	rm -rf "$BATS_FILE_TMPDIR/project/results/"*
	cd "$BATS_FILE_TMPDIR/workspace" || return
	head=$(git rev-parse HEAD) base=$(git rev-parse HEAD^1)
}

# action STATUS INPUT=VALUE...: runs all steps, which must end with this status.
action() {
	python3 "$root/tests/support/action_steps.py" "$root/action.yml" "${@:2}" >"$FAKE/steps"
	run "-$1" --separate-stderr run_action "$BATS_FILE_TMPDIR/project" "$FAKE" "$FAKE/steps"
}

@test "a slower head: outputs the comment's path and the verdict, and a status that fails the pull request" {
	echo 3200 >"$FAKE/head"
	action 1 package=src 'selection=--stack  uvicorn-asgi --scenario json' max-time=7 setup=true
	local at=$BATS_FILE_TMPDIR/project/results/3200
	[[ $(<"$FAKE/results") == "run=$at
report=$at/report.md
comment=$at/comment.md
verdict=slower" ]]
	[[ -s $at/report.md && $(<"$at/comment.md") == '### 1 comparison: 1 slower'*'`--fail-on slower:5%`: failed, 1 violation.'*'`--fail-on invalid`: passed.' ]]
	cmp "$at/comment.md" "$FAKE/summary"
	[[ $(tr '\n' ' ' <"$FAKE/words") == "--package $PWD/src@$base --package $PWD/src@$head --max-time 7 --stack uvicorn-asgi --scenario json " ]]
	git log -1 --format=%s "$base" | grep -qx base
}

@test "an equal head passes" {
	echo 4000 >"$FAKE/head"
	action 0
	[[ $(tail -n1 "$FAKE/results") == 'verdict=equal' && $(<"$FAKE/summary") == '### 1 comparison: 1 equal'* ]]
	[[ $(tr '\n' ' ' <"$FAKE/words") == "--package $PWD@$base --package $PWD@$head --max-time 30 " ]]
}

@test "a head that gives the same package passes, and what cannot be measured does not" {
	echo '3 bench: --package: equal sides: a@1 and a@2 give the same files (a==1)' >"$FAKE/refusal"
	action 0
	[[ $(<"$FAKE/results") == $'run=\nreport=\ncomment=\nverdict=equal' ]]
	grep -q 'give the same package' "$FAKE/summary"
	echo '2 bench: --package a@2: RuntimeError: cannot build: equal sides: nothing to see' >"$FAKE/refusal"
	action 2
	echo '1 bench: --package: the wheels cannot be built' >"$FAKE/refusal"
	action 1
	# shellcheck disable=SC2154 # bats sets it
	[[ $(tail -n1 "$FAKE/results") == verdict= && $stderr == *'the wheels cannot be built'* ]]
}

@test "without policies nothing fails; an unknown policy is refused before anything is measured" {
	echo 3200 >"$FAKE/head"
	action 2 fail-on=slowest
	# shellcheck disable=SC2154 # bats sets it
	[[ $(tail -n1 "$FAKE/results") == verdict= && $stderr == "bench: policy 'slowest' is none of: "* && ! -e $FAKE/words ]]
	action 0 fail-on=
	[[ $(tail -n1 "$FAKE/results") == verdict=slower ]]
}

@test "what the head is compared with" {
	echo 4000 >"$FAKE/head"
	action 0 base=HEAD^2
	grep -qx "$PWD@$(git rev-parse HEAD^2)" "$FAKE/words"
	# Without GitHub's merge commit: the base commit of the event.
	GITHUB_REF=refs/heads/main action 0 "github.event.pull_request.base.sha=$(git rev-parse HEAD^2)"
	grep -qx "$PWD@$(git rev-parse HEAD^2)" "$FAKE/words"
}

# refuses MESSAGE INPUT=VALUE...: MESSAGE is the last line (git may print others before), and nothing is measured.
refuses() {
	action 2 "${@:2}"
	# shellcheck disable=SC2154 # bats sets it
	[[ ${stderr_lines[-1]} == "action.sh: $1" && ! -e $FAKE/words ]] || { echo "$stderr" && false; }
}

@test "what cannot be measured is refused" {
	refuses "package: there is no folder 'none'" package=none
	refuses "package: '/' is not in a git clone with a commit" package=/
	refuses "base: there is no commit 'v1' in this clone: give actions/checkout fetch-depth: 2, or 0 for all" base=v1
	refuses "options are split at blanks and must not have quotes: --server 'g*'" "selection=--server 'g*'"
	GITHUB_REF=refs/heads/main refuses 'base: give a commit, because there is no default outside of a pull request'
	git clone --quiet --depth 1 "file://$BATS_FILE_TMPDIR/origin" "$BATS_TEST_TMPDIR/flat"
	cd "$BATS_TEST_TMPDIR/flat"
	refuses "base: there is no commit '$base' in this clone: give actions/checkout fetch-depth: 2, or 0 for all" \
		"github.event.pull_request.base.sha=$base"
}

@test "no input is run by bash" {
	echo 4000 >"$FAKE/head"
	# shellcheck disable=SC2016 # must not be expanded
	action 0 'selection=$(touch made) `touch made`; touch made *' 'max-time=1; touch made'
	# shellcheck disable=SC2016
	grep -qx '\$(touch' "$FAKE/words"
	grep -qx '\*' "$FAKE/words"
	[[ ! -e made ]]
	# shellcheck disable=SC2016
	refuses_input '$(touch made)'
	[[ ! -e made ]]
}

refuses_input() { for name in package base fail-on; do action 2 "$name=$1"; done; }

@test "the documented workflow is valid, and uses only inputs that the action has" {
	cd "$BATS_TEST_TMPDIR"
	git init --quiet .
	mkdir -p .github/workflows .bench
	cp "$root/action.yml" .bench/
	cp "$root/docs/github-actions-package.yml" .github/workflows/bench.yml
	actionlint
	# actionlint does check the inputs.
	sed -i 's/max-time: 30/most-time: 30/' .github/workflows/bench.yml
	run -1 actionlint
	[[ $output == *'input "most-time" is not defined in action'* ]]
}
