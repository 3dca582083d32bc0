#!/usr/bin/env bats
# Two refs in one run that is interrupted by Ctrl-C and resumed to its verdict. Nothing is left either time.

# shellcheck disable=SC2154 # common.bash sets docker
load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git init --quiet
	git add --all
	git commit --quiet --message all
	scripts/branches.sh
	local pid i status=0
	# Four rounds are enough, unless other tests disturb some of them.
	env --default-signal=INT scripts/compare.sh sync gevent --scenario delay-20 --rounds 8 --controls none 2>"$BATS_FILE_TMPDIR/log" &
	pid=$!
	for ((i = 0; i < 1200; i++)); do
		! compgen -G 'results/2*/raw/r01/b1/services/*' >/dev/null || break
		sleep 0.1
	done
	left >"$BATS_FILE_TMPDIR/meanwhile"
	kill -INT "$pid" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	wait "$pid" || status=$?
	echo "$status" >"$BATS_FILE_TMPDIR/status"
	left >"$BATS_FILE_TMPDIR/interrupted"
	scripts/matrix.sh --quiet --resume "$(the_run)" >"$BATS_FILE_TMPDIR/said" 2>>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# left: prints worktrees, images of the branches' commits, containers and folders with refs.
left() {
	git worktree list --porcelain | sed -n '/^worktree .*refs-/p'
	"$docker" image ls --format '{{.Repository}}' | grep -E "^bench/.*-($(git rev-parse --short=7 sync)|$(git rev-parse --short=7 gevent))$" || true
	[[ ! -d $(compgen -G 'results/2*') ]] || containers_of "$(the_run)"
	find results -maxdepth 1 -name '.refs-*'
}

@test "worktrees, images with the refs' names and containers exist during the run, and are gone after Ctrl-C" {
	cat "$BATS_FILE_TMPDIR/log"
	[[ $(count '^worktree ' "$BATS_FILE_TMPDIR/meanwhile") == 2 ]]
	grep -q "^bench/gunicorn-sync-flask-py313-debian-sync-$(git rev-parse --short=7 sync)$" "$BATS_FILE_TMPDIR/meanwhile"
	grep -q "^bench/gunicorn-gevent-flask-py313-debian-gevent-$(git rev-parse --short=7 gevent)$" "$BATS_FILE_TMPDIR/meanwhile"
	[[ $(<"$BATS_FILE_TMPDIR/status") == 130 && ! -s $BATS_FILE_TMPDIR/interrupted ]]
}

@test "the resumed run ends with a verdict that names both refs, in report and comment" {
	# Print invalid windows first, because a test that fails beside other files is reported with its first lines.
	grep -ho '"cause": *"[^"]*", *"detail": *"[^"]*"' "$run_folder/records.jsonl" || true
	cat "$run_folder/report.md"
	[[ $(<"$BATS_FILE_TMPDIR/said") == "$run_folder/report.md" ]]
	grep -qE '^  - delay-20 .*: gevent against sync \(gunicorn-gevent-flask against gunicorn-sync-flask\): gevent served [0-9.]+ times as many requests per second as sync' "$run_folder/report.md"
	grep -qE '"kind": "contrast".*"b": "gunicorn-gevent-flask-py313-debian-gevent", "verdict": "faster"' "$run_folder/verdicts.jsonl"
	[[ $(grep -o '"settings":"[^"]*"' "$run_folder/records.jsonl" | sort -u) == $'"settings":"REF=gevent"\n"settings":"REF=sync"' ]]
	run -0 scripts/pr-comment.sh "$run_folder" --fail-on slower
	[[ $output == '### 1 comparison: 1 faster'*'`gevent ('*') against sync ('*')`'* ]]
}

@test "nothing is left at the end" {
	left >"$BATS_TEST_TMPDIR/left"
	cat "$BATS_TEST_TMPDIR/left"
	[[ ! -s $BATS_TEST_TMPDIR/left ]]
}
