# shellcheck shell=bash
# How measure ends when something is wrong.

# fail STATUS MESSAGE: one line, and exit.
fail() {
	{ set +x; } 2>/dev/null # so that the message stays the last line of a trace
	echo "${0##*/}: $2" >&2
	exit "$1"
}

# explain_errors: from here on a command that fails unexpectedly is named, with its file and line, and ends the script
# with status 1. BENCH_DEBUG=1 traces every command to stderr.
explain_errors() {
	trap 'fail 1 "${BASH_SOURCE[0]##*/}:$LINENO: \"$BASH_COMMAND\" ended with status $?"' ERR
	[[ ${BENCH_DEBUG:-} == 1 ]] || return 0
	exec {BASH_XTRACEFD}>&2 # not into what "2>&1" captures
	PS4='+ ${BASH_SOURCE##*/}:$LINENO: '
	set -x
}
