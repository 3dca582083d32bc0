# shellcheck shell=bash
# How a script fails: one line, and a status that is not 0. Only declares; common.sh has `root` and `warn`.

# What a failure ends with: how to go on from what is kept. Whoever holds a run has set it (driver/lifecycle/hold.py).
failure_note=${BENCH_NOTE:-}

# fail STATUS MESSAGE: one line that says how to fix it; 2 for what the user can fix, 1 for the rest.
fail() {
	local note=''
	(($1 == 2)) || note=$failure_note
	warn "${BENCH_SCRIPT:-${0##*/}}: $2${note:+; $note}"
	exit "$1"
}

# trap_errors: from here on, a command that fails unexpectedly, in $(...) too, ends the script with one line that names file,
# line and command. BENCH_DEBUG=1 traces every command.
trap_errors() {
	shopt -s inherit_errexit
	error_shell=$BASHPID
	trap 'on_error $? "$BASH_COMMAND"' ERR
	# Else a command that takes Ctrl-C as its own failure is reported as one.
	[[ $(trap -p INT) ]] || trap 'exit 130' INT
	[[ ${BENCH_DEBUG:-} ]] || return 0
	exec {BASH_XTRACEFD}>&2 # not into what "2>&1" captures
	PS4='+ ${BASH_SOURCE[0]##*/}:$LINENO: '
	set -x
}
error_shell=''

# on_error STATUS COMMAND: subshells leave it to their parent. Whoever ended with status 2 has said what the user can fix;
# where something is kept, that is said too.
on_error() {
	local frame where=''
	[[ $BASHPID == "$error_shell" ]] || return 0
	case $1 in
	130 | 143) exit "$1" ;;
	2) [[ $failure_note ]] || exit 2 ;;
	esac
	for ((frame = 1; frame < ${#FUNCNAME[@]} && frame <= 4; frame++)); do
		where+="${where:+ < }${BASH_SOURCE[frame]#"$root/"}:${BASH_LINENO[frame - 1]}"
	done
	fail 1 "'${2%%$'\n'*}' ended with status $1 at $where"
}
