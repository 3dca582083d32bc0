# shellcheck shell=bash
# How a service ends when it is told to, while it is under load. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# check_shutdown NAME: SIGTERM while requests come and one waits for half a second (a server with its own grace period finishes
# it), SIGKILL after 10 s, as from Docker itself; how it went into stop.json. A noisy
# machine has three tries, as it has for the checks that take times. Sets `stopped` to the exit status of the last one.
check_shutdown() {
	local begin end try up
	for try in 1 2 3; do
		((try == 1)) || restart_service "$1" || break
		# shellcheck disable=SC2016 # expanded in the container
		in_loadgen sh -c 'curl --silent --max-time 3 "$0/?duration=500" & exec hey -z 2s -c 8 -q 25 -t 2 "$0/json"' \
			"http://$1:8080" >/dev/null 2>&1 &
		sleep 0.5
		read_up
		begin=$up
		at server stop --time 10 "$project-$1-1" >/dev/null 2>&1 || true
		read_up
		end=$up
		stopped=$(at server inspect --format '{{.State.ExitCode}}' "$project-$1-1")
		bench service-stopped "$run" "$1" "$stopped" "$try" "${begin}0000000" "${end}0000000"
		((stopped != 0 && stopped != 128 + 15)) || break
	done
	stop_service "$1"
}
restart_service() { start_service "$1" && { await_answer "$1" || return; }; }
