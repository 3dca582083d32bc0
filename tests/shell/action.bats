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
	cp "$BATS_FILE_TMPDIR/project/scripts/"{matrix,compare}.sh
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
	mkdir "$FAKE" "$BATS_TEST_TMPDIR/bin"
	# GitHub's client: $FAKE/comments has the numbers of earlier comments; $FAKE/asked gets the calls, $FAKE/body the comment.
	cat >"$BATS_TEST_TMPDIR/bin/gh" <<-'EOS'
		#!/usr/bin/env bash
		[[ $GH_TOKEN == secret && ! -e $FAKE/fork ]] || exit 1
		printf '%s\n' "${*//$'\n'*/}" >>"$FAKE/asked"
		[[ $2 != --paginate ]] || cat "$FAKE/comments"
		[[ ${*: -1} != body=* ]] || printf '%s' "${*: -1}" | sed '1s/^body=//' >"$FAKE/body"
	EOS
	chmod +x "$BATS_TEST_TMPDIR/bin/gh"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	: >"$FAKE/comments"
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

pull_request=(github.token=secret github.event.pull_request.number=7 github.job=bench)

@test "the comment is posted, and replaced by that of the next run with the same inputs, but no other" {
	export GITHUB_REPOSITORY=o/r
	local mark first
	echo 3200 >"$FAKE/head"
	action 1 "${pull_request[@]}"
	mark=$(tail -n1 "$FAKE/body") first=$(head -n1 "$FAKE/body")
	[[ $first == '### 1 comparison: 1 slower' && $mark =~ ^'<!-- bench '[0-9]+' '[0-9]+' -->'$ ]]
	[[ $(<"$FAKE/asked") == "api --paginate repos/o/r/issues/7/comments --jq .[] | select(.user.type == \"Bot\" and (.body | endswith(\"$mark\"))) | .id
api --method POST repos/o/r/issues/7/comments --raw-field body=### 1 comparison: 1 slower" ]]
	printf '41\n42\n' >"$FAKE/comments"
	action 1 "${pull_request[@]}"
	[[ $(tail -n1 "$FAKE/asked") == 'api --method PATCH repos/o/r/issues/comments/42 '* && $(tail -n1 "$FAKE/body") == "$mark" ]]
	action 1 "${pull_request[@]}" 'selection=--stack aiohttp'
	[[ $(tail -n1 "$FAKE/body") != "$mark" ]]
}

@test "no comment is posted outside of a pull request, if it is not wanted, or from a fork, where a line says so" {
	export GITHUB_REPOSITORY=o/r
	echo 4000 >"$FAKE/head"
	action 0 github.token=secret
	action 0 "${pull_request[@]}" comment=false
	[[ ! -e $FAKE/asked && $output != *notice* ]]
	touch "$FAKE/fork"
	action 0 "${pull_request[@]}"
	[[ $output == '::notice::could not comment, as on a pull request from a fork; the verdicts are in the summary' ]]
	[[ $(tail -n1 "$FAKE/results") == verdict=equal && $(<"$FAKE/summary") == '### 1 comparison'* ]]
}

@test "an app is compared at both commits" {
	echo 4000 >"$FAKE/head"
	action 0 'app=src  main:app' 'selection=--server uvicorn'
	[[ $(tr '\n' ' ' <"$FAKE/words") == "${base:0:12} ${head:0:12} --app $PWD/src main:app --max-time 30 --server uvicorn " ]]
	echo "3 compare.sh: a and b are equal in src: there is nothing to compare" >"$FAKE/refusal"
	action 0 'app=src main:app'
	grep -q 'give the same app' "$FAKE/summary"
	rm "$FAKE/words"
	refuses 'app: give a folder and MODULE:CALLABLE, such as: . main:app' app=src
	refuses "app: there is no folder 'none'" 'app=none main:app'
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

refuses_input() { for name in package app base fail-on; do action 2 "$name=$1"; done; }

@test "the documented workflow is valid, and uses only inputs that the action has" {
	cd "$BATS_TEST_TMPDIR"
	git init --quiet .
	mkdir -p .github/workflows .bench
	cp "$root/action.yml" .bench/
	sed 's|OWNER/REPO@v1|./.bench|' "$root/docs/github-actions-package.yml" >.github/workflows/bench.yml
	grep -q 'uses: ./.bench' .github/workflows/bench.yml
	actionlint
	# actionlint does check the inputs.
	sed -i 's/max-time: 30/most-time: 30/' .github/workflows/bench.yml
	run -1 actionlint
	[[ $output == *'input "most-time" is not defined in action'* ]]
}
