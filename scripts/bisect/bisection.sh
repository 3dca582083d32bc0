# shellcheck shell=bash
# A bisection by verdicts. Only declares.

# shellcheck source=scripts/bisect/measure.sh
source "${BASH_SOURCE[0]%/*}/measure.sh"

# What was given: GOOD and BAD, PATH.
refs=() package=''

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

# need_one_comparison: before anything is measured.
need_one_comparison() {
	local status words tables
	matrix "$bad" --list
	end_unless_done
	tables=$(sed -n 's/^table in turns: //p' "$state/said.txt" | tr -s ' ')
	[[ $tables == *' 2 services' && $tables != *$'\n'* ]] ||
		fail 2 "a bisection follows one comparison, narrow the selection with --stack, --scenario, --tool and --level: ${tables//$'\n'/; }"
}

end_unless_done() {
	case $status in
	0) ;;
	1) fail 3 "$words" ;;
	*) fail "$status" "$words" ;;
	esac
}

# measure_whole: sets `whole`, the difference between GOOD and BAD, or ends: there is nothing to bisect.
measure_whole() {
	local status run words found
	say "measuring ${refs[0]} and ${refs[1]}"
	measure_beside "$bad"
	end_unless_done
	find_docker # that matrix.sh --setup may have installed
	found=$(in_tools python3 -m bench bisect "$run") || exit $?
	whole=${found%% *}
	told "$bad" "bad: ${found#* }"
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
