# shellcheck shell=bash
# The service's answers outside the load.

# The last answer: STATUS (000: none), SECONDS that it took, and ERROR: curl's message, or ''.
declare -A ANSWER=()

# ask FILE: one request of the load's route; sets ANSWER, and the body goes to FILE.
ask() {
	local body=$1 method=${LOAD[METHOD]} told request failed=''
	request=(--request "$method")
	request+=("${HEADERS[@]}")
	if [[ ${LOAD[BODY]} ]]; then
		request+=(--data-raw "${LOAD[BODY]}")
	elif [[ ${LOAD[BODY_FILE]} ]]; then
		request+=(--data-binary "@${LOAD[BODY_FILE]}")
	fi
	[[ $method != HEAD ]] || request=(--head "${HEADERS[@]}")
	# What curl's status says is in its message too.
	told=$(curl --silent --show-error --noproxy '*' --max-time "${ANSWER_TIMEOUT:-15}" --max-filesize 64M --output "$body" \
		--write-out '%{stderr}\n%{http_code} %{time_total}' "${request[@]}" "${LOAD[URL]}" 2>&1) || failed=yes
	ANSWER=([STATUS]=000 [SECONDS]='' [ERROR]="$told") # where curl itself could not run
	[[ ${told##*$'\n'} =~ ^([0-9]{3})\ ([0-9.]+)$ ]] || return 0
	ANSWER=([STATUS]="${BASH_REMATCH[1]}" [SECONDS]="${BASH_REMATCH[2]}" [ERROR]="${told%%$'\n'*}")
	# A good status before half a body, or one without end, is no answer.
	[[ ! $failed ]] || ANSWER[STATUS]=000
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

shorten() { printf '%q' "${1:0:120}"; }

# Nanoseconds since the epoch, without a process (the clock is read in microseconds).
now() { printf '%s000' "${EPOCHREALTIME/./}"; }

# read_up: sets UP to the hundredths of a second that the machine is up: a clock that nobody sets, for durations.
read_up() {
	local whole part
	if IFS='. ' read -r whole part _ 2>/dev/null <"${PROC_ROOT:-/proc}/uptime"; then UP=$((10#$whole$part)); else UP=$((SECONDS * 100)); fi
}
# shellcheck disable=SC2034 # whoever takes a time uses it
UP=0
