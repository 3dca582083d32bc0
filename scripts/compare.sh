#!/usr/bin/env bash
#
# Usage: scripts/compare.sh REF_A REF_B [SELECTION...]
#        scripts/compare.sh REF_A REF_B --app FOLDER MODULE:CALLABLE [SELECTION...]
#
# Measures two refs of this repository in one run, in turns: each service of a selection as it is at REF_A, the base,
# and as it is at REF_B. Its files, and those settings of .env that it reads, are those of the ref; everything else, the
# load and how it is judged too, is the current one for both. REF is a commit, branch or tag, or WORKTREE: what is not
# committed. Prints report.md's path; scripts/pr-comment.sh RUN gives the verdicts as a comment.
#
#   SELECTION             options of scripts/matrix.sh; without --stack, --server, --framework and --preset what the
#                         refs differ in, for at most 4 minutes. In --stack and --preset, $WORKER_CLASS is each side's.
#   --app FOLDER MODULE:CALLABLE    an app of one's own, at two refs of the repository that FOLDER is in
#                         (docs/own-app.md); without --server on one server
#
# The refs are checked out below results/, and removed at the end with their images. scripts/matrix.sh --resume RUN goes
# on with a run that was cut: it checks the same commits out again.
set -Eeuo pipefail
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/lib/jobs.sh"
# shellcheck source=scripts/lib/refs.sh
source "${BASH_SOURCE[0]%/*}/lib/refs.sh"
trap_errors

resume='' app=() selection=()
case ${1:-} in
-h | --help) usage && exit ;;
--resume)
	resume=${2:-}
	resume=${resume%/}
	[[ -d $root/results/${resume##*/}/refs ]] || fail 2 "'${2:-}' is no run of two refs"
	selection=(--resume "$resume" "${@:3}")
	;;
*)
	[[ ${2:-} && $1 != -* && $2 != -* ]] || fail 2 "two refs are needed, such as main WORKTREE; see --help"
	refs=("$1" "$2")
	shift 2
	while (($#)); do
		case $1 in
		--resume | --target | --package) fail 2 "$1 does not go with two refs; see --help" ;;
		--app)
			[[ ${2:-} && ${3:-} && $3 != -* ]] || fail 2 "--app needs a folder and MODULE:CALLABLE, such as --app ./shop main:app"
			app=("$2" "$3")
			shift 2
			;;
		*) selection+=("$1") ;;
		esac
		shift
	done
	;;
esac

# shellcheck disable=SC2317,SC2329 # the trap calls it
finish() {
	trap '' INT TERM HUP
	end_jobs 60
	[[ ! $folder ]] || remove_refs "$folder"
}
find_docker || true # matrix.sh says so
trap finish EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$root/results"
forget_hook
remove_left_refs

if [[ $resume ]]; then
	saved=$root/results/${resume##*/}/refs
	find_saved "$saved"
	mapfile -t paths <"$saved/paths"
	IFS=$'\t' read -r _ _ _ _ _ _ place <"$saved/sides.tsv"
	place=$root/${place%/*/*}
	mkdir "$place" 2>/dev/null || fail 2 "$resume is being measured: wait for it, or end it"
	folder=$place
	hold_refs
	cp "$saved"/* "$folder/"
else
	if ((${#app[@]})); then
		[[ -d ${app[0]} ]] || fail 2 "--app: there is no folder '${app[0]}'"
		find_repository "${app[0]}"
		paths=("${prefix:-.}") needed=''
		[[ $prefix ]] || tree_name=${repository##*/}
	else
		find_repository "$root"
		[[ ! $prefix ]] || fail 2 "this folder is not a git clone: git clone the project first"
	fi
	# Known before it is there, for a signal may come any time.
	folder=$root/results/.refs-$(printf '%x' "$$" "$RANDOM")
	mkdir "$folder"
	hold_refs
	printf '%s\n' "${repository#"$root"}" >"$folder/repository"
	printf '%s\n' "${paths[@]}" >"$folder/paths"
	list_sides "${refs[@]}"
	here=${folder#"$root/"}
	selection+=("--sides=$here")
	((${#app[@]} == 0)) ||
		selection=(--app "$folder/0/$tree_name/$prefix" "${app[1]}" --head "$folder/1/$tree_name/$prefix" "${selection[@]}")
fi
check_out
status=0
BENCH_REFS=1 in_background "$root/scripts/matrix.sh" "${selection[@]}"
wait "$child" || status=$?
exit "$status"
