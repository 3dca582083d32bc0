# shellcheck shell=bash
# A commit is measured beside the good one. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/../lib/compose.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/../lib/jobs.sh"

# Of the bisection: the package's folder, commits, the whole difference, options of matrix.sh, and a folder for all of it.
# shellcheck disable=SC2034 # those who source this use bad and whole
folder='' good='' bad='' whole='' selection=() state=''

# matrix COMMIT OPTION...: it and GOOD in one run; sets `status` to that of matrix.sh, and `words` to what was said last.
matrix() {
	status=0
	attend "$root/scripts/matrix.sh" --quiet --package "$folder@$good" --package "$folder@$1" --controls none --max-time 10 \
		"${selection[@]}" "${@:2}" >"$state/said.txt" 2>"$state/errors" || status=$?
	words=$(sed -nE '$s/^(bench|matrix\.sh): //;$p' "$state/errors")
	words=${words:-scripts/matrix.sh ended with status $status}
}

# measure_beside COMMIT: also sets `run`.
measure_beside() {
	matrix "$1"
	run=$(sed -nE '$s:/report\.md$::p' "$state/said.txt")
}

# told COMMIT WORDS: its line, printed and kept.
told() {
	local subject
	subject=$(git -C "$folder" log -1 --format='%h %s' "$1" | tr -d '[:cntrl:]')
	echo "$subject: $2${run:+; $run}" | tee "$state/said/$1"
}
