# shellcheck shell=bash
# Waiting for a service's first answer. Only declares; needs the engine's in_loadgen and is_running.

# await_answer NAME: until the service answers anything at all, READY_TIMEOUT (30) s at most, or its container ends.
await_answer() {
	local give_up=$((SECONDS + ${READY_TIMEOUT:-30})) left
	# Two seconds of tries by one command: to enter a container costs more than to ask. One that accepts connections and
	# answers none takes no longer than is left.
	while left=$((give_up - SECONDS)) && ((left > 0)); do
		# shellcheck disable=SC2016 # expanded in the container
		! in_loadgen sh -c 'end=$(($(date +%s) + 2))
			until curl --silent --output /dev/null --max-time "$1" "$0"; do
				[ "$(date +%s)" -lt "$end" ] || exit 1
				sleep 0.1
			done' "http://$1:8080/" $((left < 5 ? left : 5)) || return 0
		is_running "$1" && is_running loadgen || return 1
	done
	return 1
}
