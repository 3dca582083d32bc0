# shellcheck shell=bash
# The service's own answers, outside the load: when it is ready, and whether it still is.

# The last answer: STATUS (000: none), SECONDS that it took, and ERROR: curl's message, or ''.
declare -A ANSWER=()

# ask FILE: one request of the load's route; sets ANSWER, and the body goes to FILE.
ask() {
	local body=$1 method=${LOAD[METHOD]} told request
	request=(--request "$method")
	[[ -z ${LOAD[BODY]} ]] || request+=(--header 'Content-Type: application/json' --data-raw "${LOAD[BODY]}")
	[[ $method != HEAD ]] || request=(--head)
	# What curl's status says is in its message too.
	told=$(curl --silent --show-error --noproxy '*' --max-time "${ANSWER_TIMEOUT:-15}" --output "$body" \
		--write-out '%{stderr}\n%{http_code} %{time_total}' "${request[@]}" "${LOAD[URL]}" 2>&1) || true
	ANSWER=([STATUS]=000 [SECONDS]='' [ERROR]="$told") # where curl itself could not run
	[[ ${told##*$'\n'} =~ ^([0-9]{3})\ ([0-9.]+)$ ]] || return 0
	ANSWER=([STATUS]="${BASH_REMATCH[1]}" [SECONDS]="${BASH_REMATCH[2]}" [ERROR]="${told%%$'\n'*}")
}

# Polls until the first good answer and prints its time. A wrong answer other than a server error (5xx, which a service
# may give while it starts) fails at once.
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
	200) echo "ready $(now)" ;;
	000) fail 10 "${LOAD[URL]} gave no answer in $timeout s: ${ANSWER[ERROR]}" ;;
	*) fail 11 "${LOAD[URL]}: expected status 200, got ${ANSWER[STATUS]}: $(shorten "$(<"$body")")" ;;
	esac
	rm "$body"
}

# Adds to FACTS whether the service still answers after the load.
add_health() {
	ask /dev/null
	FACTS+=(health_after/status "${ANSWER[STATUS]}" health_after/time_s "${ANSWER[SECONDS]}" health_after/error "${ANSWER[ERROR]}")
}

# Replaces the host's name in the URL by its address. A tool that looks the name up for each connection (hey does) would
# load the resolver, which is Docker's own daemon, and through it the machine. A name without an address stays: the
# tool's own error then says so.
pin_address() {
	local host=${LOAD[URL]#http://} address
	host=${host%%:*}
	address=$(getent ahostsv4 "$host" 2>/dev/null | sed -n '1s/ .*//p') || true
	[[ -z $address ]] || LOAD[URL]=${LOAD[URL]/"$host"/"$address"}
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
	echo "warm $(now)"
}

shorten() { printf '%q' "${1:0:120}"; }

# Nanoseconds since the epoch, without a process (the clock is read in microseconds).
now() { printf '%s000' "${EPOCHREALTIME/./}"; }
