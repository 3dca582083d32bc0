# shellcheck shell=bash
# The service's own answers, beside the load: when it is ready, and whether it still is.

# One request of the measurement's route. Sets ANSWER_STATUS (000: none), ANSWER_SECONDS, ANSWER_ERROR; the body
# goes to the file named.
ask() {
	local body=$1 request=(--request "$METHOD")
	[[ -z $BODY ]] || request+=(--header 'Content-Type: application/json' --data-raw "$BODY")
	[[ $METHOD != HEAD ]] || request=(--head)
	ANSWER_ERROR=$(curl --silent --show-error --noproxy '*' --max-time "${ANSWER_TIMEOUT:-15}" --output "$body" \
		--write-out '%{stderr}\n%{http_code} %{time_total}' "${request[@]}" "$URL" 2>&1) || true
	read -r ANSWER_STATUS ANSWER_SECONDS <<<"${ANSWER_ERROR##*$'\n'}"
	ANSWER_ERROR=${ANSWER_ERROR%%$'\n'*}
}

# Whether the body in a file is what the plan expects: the same bytes, or the same JSON value.
as_expected() {
	[[ -z $EXPECT ]] || cmp --silent "$1" <(printf '%s' "$EXPECT") ||
		jq --exit-status --slurp --argjson expected "$EXPECT" '. == [$expected]' "$1" >/dev/null 2>&1
}

# Polls until the first good answer and prints its time. A wrong answer other than a server's error (5xx, which a
# service may give while it starts) fails at once.
wait_until_ready() {
	local body give_up=$((SECONDS + ${READY_TIMEOUT:-30}))
	body=$(mktemp)
	while ask "$body" && [[ $ANSWER_STATUS == 000 || $ANSWER_STATUS == 5?? ]]; do
		((SECONDS < give_up)) || break
		sleep 0.05
	done
	case $ANSWER_STATUS in
	200) as_expected "$body" || fail 11 "$URL: expected $(shorten "$EXPECT"), got $(shorten "$(<"$body")")" ;;
	000) fail 10 "$URL gave no answer in ${READY_TIMEOUT:-30} s: $ANSWER_ERROR" ;;
	*) fail 11 "$URL: expected status 200, got $ANSWER_STATUS: $(shorten "$(<"$body")")" ;;
	esac
	rm "$body"
	echo "ready $(now)"
}

# Whether the service still answers after the load, as facts for tool.json.
check_health() {
	ask /dev/null
	facts+=(health_after/status "$ANSWER_STATUS" health_after/time_s "$ANSWER_SECONDS" health_after/error "$ANSWER_ERROR")
}

# Puts the host's address in place of its name. A tool that looks the name up for each connection (hey does) would
# load the resolver, which is Docker's own daemon, and through it the machine.
pin_address() {
	local host=${URL#http://} address
	host=${host%%:*}
	address=$(getent ahostsv4 "$host" 2>/dev/null | sed -n '1s/ .*//p') || true
	[[ -z $address ]] || URL=${URL/"$host"/"$address"}
}

# The same for every cell: hey on at most 8 connections, as fast as they go.
warm_up() (
	[[ $WARMUP != 0 ]] || exit 0
	# shellcheck source=loadgen/adapters/hey
	source "$HERE/adapters/hey"
	pin_address
	connections=$((${CONNECTIONS:-8} < 8 ? ${CONNECTIONS:-8} : 8))
	body_file=${BODY:+$(mktemp)}
	[[ -z $BODY ]] || printf '%s' "$BODY" >"$body_file"
	CONNECTIONS=$connections COUNT='' RATE='' DURATION=$WARMUP TIMEOUT=${ANSWER_TIMEOUT:-15} BODY_FILE=$body_file tool_command
	output=$(timeout --kill-after 5 "$DEADLINE" "${ARGV[@]}" 2>&1) || fail 12 "warm-up: status $?: ${output##*$'\n'}"
	[[ $output == *'[200]'* ]] || fail 11 "warm-up: no answer with status 200 from $URL"
	rm -f "$body_file"
	echo "warm $(now)"
)

shorten() { printf '%q' "${1:0:120}"; }

# Nanoseconds since the epoch, without a process (the clock is read in microseconds).
now() { printf '%s000' "${EPOCHREALTIME/./}"; }
