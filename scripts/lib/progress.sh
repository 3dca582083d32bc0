# shellcheck shell=bash
# How far a run is: on a terminal one line, drawn in place, else a line for each step. Python words it. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"

in_place() { [[ ! ${BENCH_QUIET:-} && -t 2 && ${TERM:-dumb} != dumb ]]; }

# progress_options: sets `options` to what Python has to know of where progress is shown.
progress_options() {
	local columns=0 size
	options=()
	if [[ ${BENCH_QUIET:-} ]]; then
		options=(--quiet)
	elif in_place; then
		size=$(stty size <&2 2>/dev/null) || size=''
		columns=${size#* }
		((columns > 0)) || columns=80
		options=(--columns "$columns")
		[[ ${NO_COLOR:-} ]] || options+=(--colour)
	fi
}

# show_progress TEXT: as Python worded it; empty where there is nothing to show.
show_progress() {
	if [[ ! $1 ]]; then
		return
	elif in_place; then
		draw "$1"
	else
		printf '%s\n' "$1" >&2
	fi
}
