# shellcheck shell=bash
# What every script shares: where the project is, how a script fails, its help. Only declares.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# fail STATUS MESSAGE: one line that names the mend; 2 for what the user can mend, 1 for the rest.
fail() {
	warn "${0##*/}: $2"
	exit "$1"
}

# say WORDS: what goes on; nothing where BENCH_QUIET is set.
say() { [[ ${BENCH_QUIET:-} ]] || warn "$@"; }

# warn WORDS: what has to be known in any case. A line that was drawn in place (progress.sh) makes room for it.
warn() {
	printf '%s%s\n' "${drawn:+$'\r\033[K'}" "$*" >&2
	drawn=''
}
drawn=''

# end_line: what was drawn in place stays.
end_line() {
	[[ -z $drawn ]] || echo >&2
	drawn=''
}

# The header comment of the running script is its help.
usage() { sed -n '3,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

# knob NAME: its value from the environment, else from .env.
knob() {
	local value=${!1:-}
	[[ -n $value ]] || value=$(sed -n "s/^$1=//p" "$root/.env")
	printf '%s' "$value"
}

# json_object KEY VALUE...: one flat JSON object; a value that is a number stays one.
json_object() {
	local out='' key value
	while (($#)); do
		key=$1 value=$2
		shift 2
		if ! [[ $value =~ ^(0|-?[1-9][0-9]*|null)$ ]]; then
			value=$(printf '%s' "$value" | tr -d '\000-\010\013-\037' | sed 's/[\\"]/\\&/g' | tr '\n\t' '  ')
			value="\"$value\""
		fi
		out+="${out:+, }\"$key\": $value"
	done
	printf '{%s}\n' "$out"
}

# save FILE: standard input into FILE, whole or not at all.
save() {
	local temporary
	mkdir -p "$(dirname "$1")"
	temporary=$(dirname "$1")/.${1##*/}.$$
	cat >"$temporary"
	sync "$temporary"
	mv "$temporary" "$1"
}
