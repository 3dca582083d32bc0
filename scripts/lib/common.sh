# shellcheck shell=bash
# What every script shares: where the project is, how a script fails, its help. Only declares.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# What a failure ends with: how to go on from what is kept. Set by the script that has something to keep.
failure_note=''

# fail STATUS MESSAGE: one line that says how to fix it; 2 for what the user can fix, 1 for the rest.
fail() {
	local note=''
	(($1 == 2)) || note=$failure_note
	warn "${0##*/}: $2${note:+; $note}"
	exit "$1"
}

# trap_errors: from here on, a command that fails unexpectedly, in $(...) too, ends the script with one line that names file,
# line and command. BENCH_DEBUG=1 traces every command.
trap_errors() {
	shopt -s inherit_errexit
	error_shell=$BASHPID
	trap 'on_error $? "$BASH_COMMAND"' ERR
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

# say WORDS: what goes on; nothing where BENCH_QUIET is set.
say() { [[ ${BENCH_QUIET:-} ]] || warn "$@"; }

# warn WORDS: what has to be known in any case; it takes the place of a line that was drawn in place.
warn() {
	printf '%s%s\n' "${drawn:+$'\r\033[K'}" "$*" >&2
	drawn=''
}
drawn=''

# draw LINE: in the place of the last one.
draw() {
	printf '\r\033[K%s' "$1" >&2
	drawn=1
}

# end_line: what was drawn in place stays.
end_line() {
	[[ -z $drawn ]] || echo >&2
	drawn=''
}

# The header comment of the running script is its help.
usage() { sed -n '3,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

# setting NAME: its value from the environment, else from .env.
setting() {
	if [[ ${!1:-} ]]; then printf '%s' "${!1}"; else sed -n "s/^$1=//p" "$root/.env"; fi
}

# save FILE: standard input into FILE, whole or not at all.
save() {
	local temporary=${1%/*}/.${1##*/}.$BASHPID
	if mkdir -p "${1%/*}" && cat >"$temporary" && sync "$temporary" && mv "$temporary" "$1"; then return; fi
	rm -f "$temporary" || true
	return 1
}
