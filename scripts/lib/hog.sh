# shellcheck shell=bash
# Other work on the server's CPU, as a browser or a build makes it. Only declares.

# hog [CPU]: until it is ended, busy for 40 % of the time, in bursts of half a second to five seconds.
hog() {
	local burst rest
	! command -v taskset >/dev/null || taskset --cpu-list --pid "${1:-0}" "$BASHPID" >/dev/null
	while :; do
		burst=$((RANDOM % 4500 + 500)) # ms
		rest=$((burst * 3 / 2))
		local until=$((${EPOCHREALTIME/[.,]/} + burst * 1000))
		while ((${EPOCHREALTIME/[.,]/} < until)); do :; done
		sleep "$((rest / 1000)).$(printf %03d $((rest % 1000)))"
	done
}
