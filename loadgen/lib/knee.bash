# shellcheck shell=bash
# A level that asks for a knee: the rate that the load is to have. bench/knee.py says which one to try next.

# Finds the rate, with every trial kept under DIR/trials/NUMBER-RATE-SECONDS, and writes it to DIR/knee.json.
seek_knee() {
	[[ -n $KNEE_P99 ]] || return 0
	local number=0 main=$DIR
	mkdir -p "$DIR"
	rm -rf "$DIR"/{trials,knee.json}
	[[ -z $BODY_FILE ]] || printf '%s' "$BODY" >"$BODY_FILE"
	pin_address
	while next_rate "$DURATION" "$KNEE_SHARE" && [[ $VERDICT == try ]]; do
		printf -v DIR '%s/trials/%02d-%s-%s' "$main" "$((number += 1))" "$RATE" "$SECONDS_EACH"
		try_rate
		DIR=$main
	done
}

# next_rate DURATION [SHARE]: sets VERDICT, RATE, SECONDS_EACH and MOST_WORKERS.
next_rate() {
	local step
	step=$(report knee "$DIR" "$KNEE_P99" "$1" ${2:+"$2"} 2>&1) || fail 12 "${step#bench: }"
	# shellcheck disable=SC2034 # the adapter's
	read -r VERDICT RATE SECONDS_EACH MOST_WORKERS <<<"$step"
}

# One bounded attack, its files in DIR; then what it left is waited for: in the service's queue, and of closed
# connections, whose ports the next trial needs.
try_rate() {
	local status=0 DURATION=$SECONDS_EACH DEADLINE
	mkdir -p "$DIR"
	take_deadline
	tool_command
	guard
	tool_run || status=$?
	tool_save || true
	publish
	((status == 0)) || fail 12 "$TOOL ended with status $status in a trial of $RATE/s"
	local give_up=$((SECONDS + ${READY_TIMEOUT:-30}))
	while ask /dev/null && [[ $ANSWER_STATUS != 200 ]]; do
		((SECONDS < give_up)) || fail 12 "no good answer after a trial of $RATE/s: $ANSWER_STATUS $ANSWER_ERROR"
		sleep 0.1
	done
	sleep 0.5
	give_up=$((SECONDS + 70))
	while (($(ports_taken) > 4000 && SECONDS < give_up)); do sleep 0.5; done
}

# Connections in TIME_WAIT. Among more than some thousand, the kernel's search for a free port slows the load down.
ports_taken() { sed -n 's/^TCP:.* tw \([0-9]*\).*/\1/p' "${PROC_ROOT:-/proc}/net/sockstat" 2>/dev/null | grep . || echo 0; }

# Sets RATE and DURATION to what was found; before that, to those of the first trial.
take_knee() {
	[[ -n $KNEE_P99 ]] || return 0
	if [[ $1 == run ]]; then
		read -r RATE DURATION < <(jq --raw-output '"\(.rate) \(.seconds)"' "$DIR/knee.json" 2>/dev/null) ||
			fail 12 "no rate was found for $DIR"
		take_deadline
	else
		next_rate "$DURATION" && DURATION=$SECONDS_EACH
	fi
}

# shellcheck disable=SC2034 # save.bash ends the tool by it
take_deadline() { DEADLINE=$((DURATION + ${TIMEOUT%.*} + 1 + ${GRACE:-10})); }
