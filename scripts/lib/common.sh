# shellcheck shell=bash
# What every script shares: where the project is, its help, settings, messages, files that are whole. Only declares.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# shellcheck source=scripts/lib/errors.sh
source "${BASH_SOURCE[0]%/*}/errors.sh"

# What follows, and every other file here, is beyond the bash of macOS; /proc, flock and GNU tools are needed too.
if [[ $OSTYPE != linux* ]] || ((BASH_VERSINFO[0] < 5)); then
	echo "${0##*/}: the scripts need Linux and bash 5: use WSL 2 or a Linux virtual machine, or docker-compose up bench (docs/engines.md)" >&2
	exit 2
fi

# say WORDS: what goes on; nothing where BENCH_QUIET is set.
say() { [[ ${BENCH_QUIET:-} ]] || warn "$@"; }

# warn WORDS: what has to be known in any case.
warn() { printf '%s\n' "$*" >&2; }

# The header comment of the running script is its help.
usage() { sed -n '3,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

# read_up: sets `up` to the hundredths of a second that the machine is up. Nobody sets this clock, unlike that of SECONDS and
# EPOCHREALTIME: what takes a time, and what waits for one, asks it.
read_up() {
	local whole part
	if IFS='. ' read -r whole part _ 2>/dev/null </proc/uptime; then up=$((10#$whole$part)); else up=$((SECONDS * 100)); fi
}
up=0
read_up

# Of the script that a user has called, for `python3 -m driver` and what that starts: its name, and when it began.
[[ ${BENCH_HELD:-} ]] || export BENCH_SCRIPT=${0##*/} BENCH_BEGAN=$up

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
