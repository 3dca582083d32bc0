#!/usr/bin/env bash
#
# Usage: scripts/action.sh measure|judge
#
# The steps of action.yml. They read their inputs from environment variables that action.yml sets.
#
#   measure   measures PACKAGE, or APP (FOLDER MODULE:CALLABLE), at BASE and at HEAD in one run of at most MAX_TIME
#             minutes. BASE defaults to the commit that the pull request is merged into. SELECTION: options of
#             scripts/matrix.sh, split at blanks. SETUP=true: prepare the machine first. FAIL_ON is only checked.
#             Outputs: run, report; only verdict if both are the same
#   judge     writes the verdicts of the run in folder RUN as a comment. FAIL_ON: policies of scripts/pr-comment.sh,
#             which also sets the exit status. Outputs: comment, verdict. VERDICT: nothing was measured, and this is
#             the verdict. POST=true: posts it on pull request NUMBER with gh, in place of one with the same MARK
#
# Outputs are NAME=VALUE lines in the file $GITHUB_OUTPUT, or printed if that is unset. The comment is also
# appended to $GITHUB_STEP_SUMMARY.
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

# words TEXT: splits it at blanks into `split`. Quotes are refused: they would become part of a word.
words() {
	[[ $1 != *[\'\"]* ]] || fail 2 "options are split at blanks and must not have quotes: $1"
	read -r -d '' -a split <<<"$1" || true
}

# policies: sets `split` to the options of scripts/pr-comment.sh for FAIL_ON.
policies() {
	words "${FAIL_ON:-}"
	((${#split[@]} == 0)) || split=("${split[@]/#/--fail-on=}")
}

# request_base: prints the first parent of GitHub's merge commit for the pull request, or the base commit of the event.
request_base() {
	if [[ ${GITHUB_REF:-} == refs/pull/*/merge ]] && git -C "$folder" rev-parse --verify --quiet 'HEAD^2' >/dev/null; then
		git -C "$folder" rev-parse 'HEAD^1'
	else
		printf '%s' "${REQUEST_BASE:-}"
	fi
}

commit_of() { git -C "$folder" rev-parse --verify --quiet --end-of-options "$1^{commit}"; }

output() { printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/stdout}"; }

measure() {
	local what=package folder named base head split app call report status=0
	words "${APP:-}"
	app=("${split[@]}")
	((${#app[@]} == 0)) || what=app PACKAGE=${app[0]}
	((${#app[@]} == 0 || ${#app[@]} == 2)) || fail 2 "app: give a folder and MODULE:CALLABLE, such as: . main:app"
	[[ -d ${PACKAGE:=.} ]] || fail 2 "$what: there is no folder '$PACKAGE'"
	folder=$(realpath -- "$PACKAGE")
	head=$(commit_of HEAD) || fail 2 "$what: '$PACKAGE' is not in a git clone with a commit"
	named=${BASE:-$(request_base)}
	[[ $named ]] || fail 2 "base: give a commit, because there is no default outside of a pull request"
	base=$(commit_of "$named") || fail 2 "base: there is no commit '$named' in this clone: give actions/checkout fetch-depth: 2, or 0 for all"
	[[ ${SETUP:-} != true ]] || "$root/scripts/setup.sh" --setup
	policies
	"$root/scripts/pr-comment.sh" --check "${split[@]}"
	words "${SELECTION:-}"
	made=$(mktemp -d)
	trap 'rm -rf -- "$made"' EXIT
	call=("$root/scripts/matrix.sh" --package "$folder@$base" --package "$folder@$head")
	[[ $what == package ]] || call=("$root/scripts/compare.sh" "${base:0:12}" "${head:0:12}" --app "$folder" "${app[1]}")
	"${call[@]}" --max-time "${MAX_TIME:-30}" "${split[@]}" >"$made/out" || status=$?
	if ((status == 3)); then
		# Such as a pull request that only changes tests.
		output verdict "equal"
		[[ ! ${GITHUB_STEP_SUMMARY:-} ]] || echo "Base and head give the same $what: nothing was measured." >>"$GITHUB_STEP_SUMMARY"
		return
	fi
	((status == 0)) || exit "$status"
	report=$(<"$made/out")
	output run "$root/${report%/*}"
	output report "$root/$report"
}

judge() {
	if [[ ${VERDICT:-} ]]; then
		output verdict "$VERDICT"
		return
	fi
	local split comment=${RUN:?}/comment.md status=0 verdict mark body
	policies
	"$root/scripts/pr-comment.sh" "$RUN" "${split[@]}" >"$comment" || status=$?
	((status < 2)) || exit "$status"
	# The headline counts verdicts, worst first: "### 3 comparisons: 1 slower, 2 equal".
	verdict=$(sed -nE '1s/^### [^:]*: [0-9]+ ([^,]*).*/\1/p' "$comment")
	output comment "$comment"
	output verdict "$verdict"
	[[ ! ${GITHUB_STEP_SUMMARY:-} ]] || cat "$comment" >>"$GITHUB_STEP_SUMMARY"
	if [[ ${POST:-} == true && ${NUMBER:-} ]]; then
		mark="<!-- bench $(cksum <<<"${MARK:-}") -->"
		body=$(<"$comment")$'\n\n'$mark
		post "$mark" "$body" >/dev/null ||
			echo "::notice::could not comment, as on a pull request from a fork; the verdicts are in the summary"
	fi
	exit "$status"
}

# post MARK TEXT: adds a comment to pull request NUMBER, or replaces the one that ends with MARK, a line that is not shown.
post() {
	local at=repos/$GITHUB_REPOSITORY/issues method=POST ids
	ids=$(gh api --paginate "$at/$NUMBER/comments" \
		--jq ".[] | select(.user.type == \"Bot\" and (.body | endswith(\"$1\"))) | .id") || return
	at+=/$NUMBER/comments
	[[ ! $ids ]] || method=PATCH at=repos/$GITHUB_REPOSITORY/issues/comments/${ids##*$'\n'}
	gh api --method "$method" "$at" --raw-field body="$2"
}

case ${1:-} in
measure | judge) "$1" ;;
-h | --help) usage ;;
*) fail 2 "measure or judge? see --help" ;;
esac
