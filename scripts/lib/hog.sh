# shellcheck shell=bash
# Other work on the server's CPU, as a browser or a build makes it. Only declares.

# hog [CPU]: until it is ended, busy for 40 % of the time, in bursts of half a second to five seconds.
hog() {
	local burst
	stay_on "${1:-0}"
	while :; do
		burst=$((RANDOM % 4500 + 500)) # ms
		burn "$burst"
		rest "$((burst * 3 / 2))"
	done
}

# hog_levels FILE [CPU]: until it is ended, busy for 0, 5, 20 and 50 % of the time, each for some twenty seconds, in bursts of
# 10 to 200 ms; the order is drawn anew each time. A line of FILE: from and to when, in nanoseconds, and how many per cent.
hog_levels() {
	local order level begin end burst
	stay_on "${2:-0}"
	while :; do
		mapfile -t order < <(shuf -e 0 5 20 50)
		for level in "${order[@]}"; do
			begin=${EPOCHREALTIME/[.,]/}
			end=$((begin + 20000000))
			while ((${EPOCHREALTIME/[.,]/} < end)); do
				burst=$((RANDOM % 190 + 10))
				((level == 0)) || burn "$burst"
				rest "$((level == 0 ? 200 : burst * (100 - level) / level))"
			done
			printf '%s000 %s000 %s\n' "$begin" "${EPOCHREALTIME/[.,]/}" "$level" >>"$1"
		done
	done
}

stay_on() { ! command -v taskset >/dev/null || taskset --cpu-list --pid "$1" "$BASHPID" >/dev/null; }

# burn MILLISECONDS
burn() {
	local until=$((${EPOCHREALTIME/[.,]/} + $1 * 1000))
	while ((${EPOCHREALTIME/[.,]/} < until)); do :; done
}

# rest MILLISECONDS
rest() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }
