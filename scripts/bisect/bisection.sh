# shellcheck shell=bash
# A bisection by verdicts. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/../lib/compose.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/../lib/jobs.sh"

# What was given: GOOD and BAD, PATH, options of matrix.sh.
refs=() package='' selection=()

# choose_commits: sets `folder`, `good` and `bad`.
choose_commits() {
	[[ $package ]] || fail 2 "--package PATH is needed: the package's folder in its repository; see --help"
	[[ -d $package ]] || fail 2 "--package: there is no folder '$package'"
	folder=$(realpath -- "$package")
	git -C "$folder" rev-parse --git-dir >/dev/null 2>&1 || fail 2 "--package: '$package' is not in a git repository"
	good=$(commit_of "${refs[0]}")
	bad=$(commit_of "${refs[1]}")
	[[ $good != "$bad" ]] || fail 2 "'${refs[0]}' and '${refs[1]}' are the same commit"
	git -C "$folder" merge-base --is-ancestor "$good" "$bad" ||
		fail 2 "'${refs[0]}' does not lead to '${refs[1]}': give the good commit first, and one that the bad one descends from"
}

commit_of() {
	git -C "$folder" rev-parse --verify --quiet --end-of-options "$1^{commit}" || fail 2 "there is no commit '$1' in $package: fetch it first"
}

# open_bisection: a work tree without files, as git has the state of a bisection for each; gone when this script ends.
open_bisection() {
	state=$(mktemp -d)
	trap close_bisection EXIT
	trap 'exit 130' INT TERM HUP
	mkdir "$state/said"
	git -C "$folder" -c core.hooksPath=/dev/null worktree add --quiet --no-checkout --detach "$state/tree" "$bad"
}

# A run that is cut needs some seconds to take its containers away.
close_bisection() {
	end_jobs 60
	[[ ! -e $state/tree ]] || git -C "$folder" worktree remove --force "$state/tree" || true
	rm -rf "$state"
}

# measure_beside COMMIT: it and GOOD in one run; sets `status` to that of matrix.sh, `run`, and `words` to what was said last.
measure_beside() {
	status=0
	attend "$root/scripts/matrix.sh" --quiet --package "$folder@$good" --package "$folder@$1" --controls none --max-time 10 \
		"${selection[@]}" >"$state/report" 2>"$state/errors" || status=$?
	run=$(sed -nE '$s:/report\.md$::p' "$state/report")
	words=$(sed -nE '$s/^(bench|matrix\.sh): //;$p' "$state/errors")
	words=${words:-scripts/matrix.sh ended with status $status}
}

# measure_whole: sets `whole`, the difference between GOOD and BAD, or ends: there is nothing to bisect.
measure_whole() {
	local status run words found
	say "measuring ${refs[0]} and ${refs[1]}"
	measure_beside "$bad"
	case $status in
	0) ;;
	1) fail 3 "$words" ;;
	*) fail "$status" "$words" ;;
	esac
	find_docker # that matrix.sh --setup may have installed
	found=$(in_tools python3 -m bench bisect "$run") || exit $?
	whole=${found%% *}
	told "$bad" "bad: ${found#* }"
}

# told COMMIT WORDS: its line, printed and kept.
told() {
	local subject
	subject=$(git -C "$folder" log -1 --format='%h %s' "$1" | tr -d '[:cntrl:]')
	echo "$subject: $2${run:+; $run}" | tee "$state/said/$1"
}

# git_bisect: ends with 0, 1 or 3.
git_bisect() {
	local status=0 first
	declare -p folder good bad whole selection state >"$state/variables"
	git -C "$state/tree" bisect start --no-checkout "$bad" "$good" >"$state/git.log"
	exec {BISECT_LINES}>&1
	export BISECT_LINES
	attend git -C "$state/tree" bisect run "$root/scripts/bisect/step" "$state" >"$state/git.log" || status=$?
	case $status in
	0)
		first=$(git -C "$state/tree" rev-parse refs/bisect/bad)
		sed -n '/ is the first bad commit$/,/^bisect found/{/^bisect found/!p}' "$state/git.log"
		cat "$state/said/$first"
		;;
	2)
		sed -n "/^There are only/,\$p" "$state/git.log"
		exit 1
		;;
	*) fail 3 "the bisection was broken off; its last line says why" ;;
	esac
}
