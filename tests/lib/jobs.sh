# shellcheck shell=bash
# Runs commands in the background, in parallel, and ends them. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/common.sh"

child=''
# in_background COMMAND...: runs it in its own process group, so that all its processes can be signalled. Sets `child`.
in_background() {
	set -m
	"$@" </dev/null &
	child=$!
	set +m
}

# end_jobs SECONDS: sends SIGTERM to all background jobs of this shell, and SIGKILL after SECONDS.
end_jobs() {
	local job started up give_up
	read_up
	give_up=$((up + $1 * 100))
	trap '' INT TERM HUP
	mapfile -t started < <(jobs -p)
	for job in "${started[@]}"; do kill -- "-$job" 2>/dev/null || true; done
	for job in "${started[@]}"; do
		while kill -0 -- "-$job" 2>/dev/null && read_up && ((up < give_up)); do sleep 0.05; done
		kill -KILL -- "-$job" 2>/dev/null || true
	done
} 2>/dev/null

# spawn JOBS COMMAND...: runs it in the background once fewer than JOBS run there. It reports its own failures.
spawn() {
	local running
	while mapfile -t running < <(jobs -rp) && ((${#running[@]} >= $1)); do wait -n || keep_status $?; done
	in_background on_its_own "${@:2}"
	spawned+=("$child")
}
spawned=() spawned_status=0

on_its_own() {
	trap_errors
	"$@"
}

# await_spawned: waits for all; if one failed, the script exits with its status.
await_spawned() {
	local pid
	for pid in "${spawned[@]}"; do wait "$pid" 2>/dev/null || keep_status $?; done
	((spawned_status == 0)) || exit "$spawned_status"
	spawned=()
}

# `wait` returns 127 for a job whose end bash has already reported.
keep_status() { (($1 == 127)) || spawned_status=$1; }
