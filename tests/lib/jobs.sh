# shellcheck shell=bash
# Commands in the background: side by side, ended. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/common.sh"

child=''
# in_background COMMAND...: as a process group of its own, so that all of it can be told to end. Nobody types into it.
in_background() {
	set -m
	"$@" </dev/null &
	child=$!
	set +m
}

# end_jobs SECONDS: what runs in the background of this shell is told to end, and killed when it has not after so long.
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

# spawn JOBS COMMAND...: in the background, once fewer than JOBS run there. It says itself what fails in it.
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

# await_spawned: until all have ended; the script ends with the status of one that failed.
await_spawned() {
	local pid
	for pid in "${spawned[@]}"; do wait "$pid" 2>/dev/null || keep_status $?; done
	((spawned_status == 0)) || exit "$spawned_status"
	spawned=()
}

# 127 is what bash says of a job whose end it has already reported.
keep_status() { (($1 == 127)) || spawned_status=$1; }
