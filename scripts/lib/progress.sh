# shellcheck shell=bash
# How far a run is: on a terminal one line, drawn over in place, else one line a step. Only declares; needs what
# verify.sh needs.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"

run='' outcome='' began=0 not_valid=0 last=''

# step_begins DONE COUNT LEFT SPENT LABEL: what is under load from here on. LEFT and SPENT are expected seconds.
step_begins() {
	! in_place || draw "$1" "$2" "$(time_left "$3" "$4")" "$5"
}

# step_ends DONE COUNT LEFT SPENT LABEL ID: between two loads, never in one.
step_ends() {
	local state='' words=''
	[[ -z ${BENCH_QUIET:-} ]] || return 0
	[[ $outcome == 'not loaded' ]] || IFS=$'\t' read -r state words < <(glance "$6") || true
	# Nothing could be read: the load generator did not start, say.
	[[ $state ]] || words=$outcome
	[[ $state == valid || ($state == '' && $outcome == measured) ]] || ((++not_valid))
	if in_place; then
		last=$words
		# `invalid: CAUSE: DETAIL` without its detail, for which one line has no room.
		[[ $state != invalid ]] || last=$(cut -d: -f1,2 <<<"$words")
		draw "$1" "$2" "$(time_left "$3" "$4")" ''
	else
		say "[$1/$2] $5: $words; $not_valid not valid, $(time_left "$3" "$4") left"
	fi
}

# glance ID: state and words of the step by the report's own parsers and gate.
glance() { in_loadgen python3 -m bench glance "results/$run" "$1" 2>/dev/null; }

# time_left LEFT SPENT: as expected, corrected by how long the steps behind us really took.
time_left() {
	local seconds=$1
	(($2 == 0)) || seconds=$(($1 * (SECONDS - began) / $2))
	printf '%d:%02d' $((seconds / 60)) $((seconds % 60))
}

in_place() { [[ -z ${BENCH_QUIET:-} && -t 2 && ${TERM:-dumb} != dumb ]]; }

# draw DONE COUNT TIME NOW: as much as the terminal has columns for. The colour says nothing that words do not.
draw() {
	local columns line bad="$not_valid not valid"
	read -r _ columns < <(stty size <&2 2>/dev/null) || true
	line="[$1/$2] $3 left, $bad${last:+, last $last}${4:+ | now $4}"
	line=${line:0:$((${columns:-0} > 0 ? columns - 1 : 79))}
	((not_valid == 0)) || [[ ${NO_COLOR:-} ]] || line=${line/"$bad"/$'\033[31m'$bad$'\033[0m'}
	printf '\r\033[K%s' "$line" >&2
	drawn=1
}
