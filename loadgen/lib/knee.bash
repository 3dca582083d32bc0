# shellcheck shell=bash
# A level that asks for a knee: which rate to try next is Python's decision (`python3 -m bench knee`).

# Searches the rate. Every trial is saved under DIR/trials/NUMBER-RATE-SECONDS, the result in DIR/knee.json and, as
# assignments for take_knee, in DIR/knee.sh.
search_knee() {
	local number next main=${LOAD[DIR]} duration=${LOAD[DURATION]} deadline=${LOAD[DEADLINE]}
	mkdir -p "$main"
	rm -rf "$main"/{trials,knee.json,knee.sh}
	[[ -z ${LOAD[BODY]} ]] || printf '%s' "${LOAD[BODY]}" >"${LOAD[BODY_FILE]}"
	pin_address
	for ((number = 1; ; number++)); do
		next_rate "$main" "$duration" "$deadline" "${LOAD[KNEE_SHARE]}"
		[[ $next == try ]] || break
		printf -v 'LOAD[DIR]' '%s/trials/%02d-%s-%s' "$main" "$number" "${LOAD[RATE]}" "${LOAD[DURATION]}"
		try_rate
	done
	LOAD[DIR]=$main
}

# next_rate DIR DURATION DEADLINE [SHARE]: sets the caller's `next` to try or done, and before a trial the load's RATE,
# DURATION, MOST_WORKERS and DEADLINE to the trial's. Any other answer than one of these two lines ends the search.
next_rate() {
	local line
	line=$(report knee "$1" "${LOAD[KNEE_P99]}" "$2" "$3" ${4:+"$4"} 2>&1) || fail 12 "${line#bench: }"
	if [[ $line =~ ^try\ ([0-9]+)\ ([0-9]+)\ ([0-9]+)\ ([0-9.]+)$ ]]; then
		next='try'
		LOAD+=([RATE]="${BASH_REMATCH[1]}" [DURATION]="${BASH_REMATCH[2]}" [MOST_WORKERS]="${BASH_REMATCH[3]}" [DEADLINE]="${BASH_REMATCH[4]}")
	elif [[ $line =~ ^done\ [0-9]+\ [0-9]+$ ]]; then
		next='done'
	else
		fail 12 "the search for a knee gave no next step: $line"
	fi
}

# One bounded attack, its files in the load's DIR; then its traces are waited for: what is left in the service's queue,
# and closed connections, whose ports the next trial needs.
try_rate() {
	local status=0 saved=0 rate=${LOAD[RATE]} give_up
	mkdir -p "${LOAD[DIR]}"
	adapter command
	guard
	adapter run || status=$?
	adapter save || saved=$?
	publish
	((status == 0)) || fail 12 "${LOAD[TOOL]} ended with status $status in a trial of $rate/s"
	((saved == 0)) || fail 12 "the reports of ${LOAD[TOOL]} could not be saved in a trial of $rate/s: $(last_words)"
	read_up
	give_up=$((UP + ${READY_TIMEOUT:-30} * 100))
	while true; do
		ask /dev/null
		[[ ${ANSWER[STATUS]} != 2?? ]] || break
		read_up
		((UP < give_up)) || fail 12 "no good answer after a trial of $rate/s: ${ANSWER[STATUS]} ${ANSWER[ERROR]}"
		sleep 0.1
	done
	sleep 0.5
	read_up
	give_up=$((UP + 7000))
	while read_up && (($(ports_taken) > 4000 && UP < give_up)); do sleep 0.5; done
}

# Connections in TIME_WAIT; 0 where the kernel does not tell. Among more than some thousand, the kernel's search for a
# free port slows the load down.
ports_taken() { sed -n 's/^TCP:.* tw \([0-9]*\).*/\1/p' "${PROC_ROOT:-/proc}/net/sockstat" 2>/dev/null | grep . || echo 0; }

# Sets the load to the rate that was found.
take_knee() {
	[[ -r ${LOAD[DIR]}/knee.sh ]] || fail 12 "no rate was found for ${LOAD[DIR]}"
	# shellcheck source=/dev/null
	source "${LOAD[DIR]}/knee.sh"
}

# Sets the load to the first trial of a search, in a folder that is not there: nothing was tried, and nothing is written.
take_first_trial() {
	local next
	next_rate /none/round/service/scenario/level "${LOAD[DURATION]}" "${LOAD[DEADLINE]}"
	[[ $next == try ]] || fail 12 "the search for a knee has no first trial"
}
