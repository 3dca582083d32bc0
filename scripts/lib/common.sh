# shellcheck shell=bash
# Shared by all scripts: project root, help, settings, messages, failures. Only declares.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The bash of macOS is too old for these scripts; they also need /proc, flock and GNU tools.
if [[ $OSTYPE != linux* ]] || ((BASH_VERSINFO[0] < 5)); then
	echo "${0##*/}: the scripts need Linux and bash 5: use WSL 2 or a Linux virtual machine, or docker-compose up bench (docs/engines.md)" >&2
	exit 2
fi

# say WORDS: prints progress, unless BENCH_QUIET is set.
say() { [[ ${BENCH_QUIET:-} ]] || warn "$@"; }

# warn WORDS: prints even if BENCH_QUIET is set.
warn() { printf '%s\n' "$*" >&2; }

# usage: prints the header comment of the running script.
usage() { sed -n '3,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

# usage_if_asked WORD...: prints the usage and exits if one of the words asks for help.
usage_if_asked() {
	local word
	for word; do [[ $word != -h && $word != --help ]] || { usage && exit; }; done
}

# read_up: sets `up` to the machine's uptime in hundredths of a second. Use it to measure durations and for timeouts: unlike the
# clock behind SECONDS and EPOCHREALTIME, it cannot be set.
read_up() {
	local whole part
	if IFS='. ' read -r whole part _ 2>/dev/null </proc/uptime; then up=$((10#$whole$part)); else up=$((SECONDS * 100)); fi
}
up=0
read_up

# Name and start time of the script that the user called, for `python3 -m driver` and what that starts.
[[ ${BENCH_HELD:-} ]] || export BENCH_SCRIPT=${0##*/} BENCH_BEGAN=$up

# setting NAME: prints its value from the environment, else from .env.
setting() {
	if [[ ${!1:-} ]]; then printf '%s' "${!1}"; else sed -n "s/^$1=//p" "$root/.env"; fi
}

# save FILE: writes standard input to FILE atomically.
save() {
	local temporary=${1%/*}/.${1##*/}.$BASHPID
	if mkdir -p "${1%/*}" && cat >"$temporary" && sync "$temporary" && mv "$temporary" "$1"; then return; fi
	rm -f "$temporary" || true
	return 1
}

# Appended to error messages: how to resume the run. Set by the process that holds the run (driver/lifecycle/hold.py).
failure_note=${BENCH_NOTE:-}

# fail STATUS MESSAGE: prints one line that says how to fix it, and exits. STATUS is 2 for what the user can fix, otherwise 1.
fail() {
	local note=''
	(($1 == 2)) || note=$failure_note
	warn "${BENCH_SCRIPT:-${0##*/}}: $2${note:+; $note}"
	exit "$1"
}

# fail_unknown WORD: fails because WORD is not an argument of the running script; suggests the closest option of its help, for which
# it needs Python.
fail_unknown() {
	local near
	near=$(usage | python3 -I -c 'import difflib, re, sys
options = re.findall(r"--([a-z][a-z-]*)", sys.stdin.read())
print(*difflib.get_close_matches(sys.argv[1].partition("=")[0].strip("-"), options, 1))' "$1" 2>/dev/null) || near=''
	fail 2 "unknown argument '$1';${near:+ did you mean --$near?} see --help"
}

# trap_errors: from here on, an unexpected failure of a command, also in $(...), ends the script with one line that names file,
# line and command. BENCH_DEBUG=1 traces every command.
trap_errors() {
	shopt -s inherit_errexit
	error_shell=$BASHPID
	trap 'on_error $? "$BASH_COMMAND"' ERR
	# Without this, Ctrl-C would be reported as a failure of the running command.
	[[ $(trap -p INT) ]] || trap 'exit 130' INT
	[[ ${BENCH_DEBUG:-} ]] || return 0
	exec {BASH_XTRACEFD}>&2 # not into what "2>&1" captures
	PS4='+ ${BASH_SOURCE[0]##*/}:$LINENO: '
	set -x
}
error_shell=''

# on_error STATUS COMMAND: subshells leave the report to their parent. A command that ended with status 2 has already told the user
# what to fix, so only the note on how to resume may be missing.
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
