# shellcheck shell=bash
# CPU time of all processes, sampled in the background for scripts/harness-cost.sh. Only declares.

# start_sampling FILE: appends samples to FILE until stop_sampling.
start_sampling() {
	sample >"$1" &
	sampler=$!
}
sampler=''

stop_sampling() {
	[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true
	sampler=''
}

# sample: prints, every half second, the time in ns and /proc/PID/stat of every process. Some end while they are read.
sample() {
	while :; do
		printf '%s000\n' "${EPOCHREALTIME/./}"
		cat /proc/[0-9]*/stat 2>/dev/null || true
		name_scripts
		sleep 0.5
	done
}

# name_scripts: prints the lines of the processes of scripts/matrix.sh again under that name, as the kernel calls them bash and
# python3.
name_scripts() {
	local place
	while read -r place; do
		sed -E 's/\((bash|python3[^)]*)\)/(matrix.sh)/' "${place%cmdline}stat" 2>/dev/null || true
	done < <(grep --files-with-matches --null-data --extended-regexp '^driver$|scripts/(matrix|measure)\.sh$' /proc/[0-9]*/cmdline 2>/dev/null || true)
}
