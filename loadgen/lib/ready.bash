# shellcheck shell=bash
# What comes before the load: the service's first good answer, and the warm-up.

# Polls until the first good answer and prints its time, and how long it took (s). A wrong answer other than a server error
# (5xx, which a service may give while it starts) fails at once.
wait_until_ready() {
	local body timeout=${READY_TIMEOUT:-30} give_up
	read_up
	give_up=$((UP + timeout * 100))
	body=$(mktemp)
	while true; do
		ask "$body"
		[[ ${ANSWER[STATUS]} == 000 || ${ANSWER[STATUS]} == 5?? ]] || break
		read_up
		((UP < give_up)) || break
		sleep 0.05
	done
	case ${ANSWER[STATUS]} in
	2??) echo "ready $(now)" && echo "answer ${ANSWER[SECONDS]}" ;;
	000) fail 10 "${LOAD[URL]} gave no answer in $timeout s: ${ANSWER[ERROR]}" ;;
	*) fail 11 "${LOAD[URL]}: expected status 200, got ${ANSWER[STATUS]}: $(shorten "$(<"$body")")" ;;
	esac
	rm "$body"
}

# The same for every cell: hey on at most 8 connections, as fast as they go; wrk for several targets, which hey cannot mix. One in
# which nothing was answered says nothing of the answers: the machine was busy, or they take longer. It is repeated for 1, 2, 4, 8 s.
warm_up() {
	local output tries=0 body=${LOAD[BODY_FILE]} made='' connections=${LOAD[CONNECTIONS]:-8} ARGV=()
	[[ -z ${LOAD[BODY]} ]] || { made=$(mktemp) && printf '%s' "${LOAD[BODY]}" >"$made" && body=$made; }
	local -A LOAD=([TOOL]=hey [URL]="${LOAD[URL]}" [METHOD]="${LOAD[METHOD]}" [BODY_FILE]="$body" [KEEPALIVE]="${LOAD[KEEPALIVE]}"
		[CONNECTIONS]=$((connections < 8 ? connections : 8)) [DURATION]="${LOAD[WARMUP]}" [TIMEOUT]="${ANSWER_TIMEOUT:-15}"
		[COUNT]='' [RATE]='' [DEADLINE]="${LOAD[DEADLINE]}" [REQUESTS]="${LOAD[REQUESTS]}" [TARGETS]="${LOAD[TARGETS]}" [THREADS]=1)
	pin_address
	while true; do
		warm_up_command
		output=$(timeout --kill-after 5 "${LOAD[DEADLINE]}" "${ARGV[@]}" 2>&1) || fail 12 "warm-up: status $?: ${output##*$'\n'}"
		! [[ $output =~ \[2[0-9][0-9]\][[:space:]]+([0-9]+)\ responses || $output =~ ([1-9][0-9]*)\ requests\ in ]] || break
		[[ ! $output =~ \[[0-9]{3}\][[:space:]]+[0-9]+\ responses ]] ||
			fail 11 "warm-up: no answer with a status of success from ${LOAD[URL]}: ${BASH_REMATCH[0]}"
		[[ ! $output =~ (Error distribution|Socket errors):[[:space:]]*([^$'\n']+) ]] ||
			fail 10 "warm-up: no answer from ${LOAD[URL]} after its first one: ${BASH_REMATCH[2]}"
		((tries < 4)) || fail 10 "warm-up: no answer from ${LOAD[URL]} in ${LOAD[DURATION]} s after its first one"
		LOAD[DURATION]=$((1 << tries++))
	done
	echo "warmed ${BASH_REMATCH[1]}"
	[[ -z $made ]] || rm "$made"
	echo "warm $(now)"
}

# warm_up_command: sets ARGV, for the load of warm_up.
warm_up_command() {
	if ((LOAD[TARGETS] > 1)); then
		# wrk takes no part of a second.
		[[ ${LOAD[DURATION]} != *.* ]] || LOAD[DURATION]=$((${LOAD[DURATION]%.*} + 1))
		LOAD[TOOL]=wrk
		wrk_command
	else
		hey_command
	fi
}
