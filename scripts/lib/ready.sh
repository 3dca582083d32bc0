# shellcheck shell=bash
# Waiting for a service's first answer. Only declares; needs the engine's in_loadgen and is_running.

# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# await_answer NAME: until the service answers anything at all, READY_TIMEOUT (30) s at most, or its container ends. What the
# last try came to is in its answer.txt.
await_answer() {
	local up give_up left log=$run_dir/raw/services/$1/answer.txt
	mkdir -p "${log%/*}" || return
	read_up
	give_up=$((up / 100 + ${READY_TIMEOUT:-30}))
	# Two seconds of tries by one command: to enter a container costs more than to ask. One that accepts connections and
	# answers none takes no longer than is left.
	while read_up && left=$((give_up - up / 100)) && ((left > 0)); do
		# shellcheck disable=SC2016 # expanded in the container
		if in_loadgen sh -c 'up() { read -r up _ </proc/uptime && up=${up%.*}; }
			up && end=$((up + 2))
			until words=$(curl --silent --show-error --output /dev/null --max-time "$1" "$0" 2>&1); do
				up && [ "$up" -lt "$end" ] || { echo "$words" && exit 1; }
				sleep 0.1
			done' "http://${address_of[$1]:-$1:8080}/" $((left < 5 ? left : 5)) >"$log" 2>&1; then
			rm -f "$log" || return
			return 0
		fi
		is_running "$1" && is_running loadgen || return 1
	done
	return 1
}
