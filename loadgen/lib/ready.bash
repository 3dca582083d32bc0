# shellcheck shell=bash
# What comes before the load: the service's first good answer, and the warm-up.

# Polls until the first good answer and prints its time, and how long it took (s). A wrong answer other than a server error
# (5xx, which a service may give while it starts) fails at once.
wait_until_ready() {
	local body timeout=${READY_TIMEOUT:-30} give_up
	give_up=$((SECONDS + timeout))
	body=$(mktemp)
	while true; do
		ask "$body"
		[[ ${ANSWER[STATUS]} == 000 || ${ANSWER[STATUS]} == 5?? ]] || break
		((SECONDS < give_up)) || break
		sleep 0.05
	done
	case ${ANSWER[STATUS]} in
	200) echo "ready $(now)" && echo "answer ${ANSWER[SECONDS]}" ;;
	000) fail 10 "${LOAD[URL]} gave no answer in $timeout s: ${ANSWER[ERROR]}" ;;
	*) fail 11 "${LOAD[URL]}: expected status 200, got ${ANSWER[STATUS]}: $(shorten "$(<"$body")")" ;;
	esac
	rm "$body"
}

# The same for every cell: hey on at most 8 connections, as fast as they go.
warm_up() {
	local output body='' connections=${LOAD[CONNECTIONS]:-8} ARGV=()
	[[ -z ${LOAD[BODY]} ]] || { body=$(mktemp) && printf '%s' "${LOAD[BODY]}" >"$body"; }
	local -A LOAD=([TOOL]=hey [URL]="${LOAD[URL]}" [METHOD]="${LOAD[METHOD]}" [BODY_FILE]="$body" [KEEPALIVE]="${LOAD[KEEPALIVE]}"
		[CONNECTIONS]=$((connections < 8 ? connections : 8)) [DURATION]="${LOAD[WARMUP]}" [TIMEOUT]="${ANSWER_TIMEOUT:-15}"
		[COUNT]='' [RATE]='' [DEADLINE]="${LOAD[DEADLINE]}")
	pin_address
	hey_command
	output=$(timeout --kill-after 5 "${LOAD[DEADLINE]}" "${ARGV[@]}" 2>&1) || fail 12 "warm-up: status $?: ${output##*$'\n'}"
	[[ $output == *'[200]'* ]] || fail 11 "warm-up: no answer with status 200 from ${LOAD[URL]}"
	[[ -z $body ]] || rm "$body"
	[[ ! $output =~ \[200\][[:space:]]+([0-9]+)\ responses ]] || echo "warmed ${BASH_REMATCH[1]}"
	echo "warm $(now)"
}
