# shellcheck shell=bash
# CPU time of all processes, sampled in the background for scripts/harness-cost.sh. Only declares.

# start_sampling FILE
start_sampling() {
	sample >"$1" &
	sampler=$!
}
sampler=''

stop_sampling() {
	[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true
	sampler=''
}

# sample: every half second the time in ns, and /proc/PID/stat of every process. Some end while they are read.
sample() {
	while :; do
		printf '%s000\n' "${EPOCHREALTIME/./}"
		cat /proc/[0-9]*/stat 2>/dev/null || true
		sleep 0.5
	done
}
