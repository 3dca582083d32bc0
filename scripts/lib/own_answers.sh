# shellcheck shell=bash
# The right answers of a user's own app, and its own words where it has none. Only declares; needs containers.sh and verify.sh.

# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# record_answers SERVICE...: from the first that gives any; of one whose answers cannot be a yardstick it is said why.
record_answers() {
	local service log=$run_dir/app/record.txt status tried=0
	for service; do
		((tried += 1, tried <= 3)) || break
		mkdir -p "$run_dir/raw/services/$service"
		if start_service "$service" && await_answer "$service"; then
			status=0
			attend in_loadgen python3 -m bench own-answers record "$run" "$service" >"$log" 2>&1 || status=$?
			save_own_log "$service"
			stop_service "$service"
			((status == 0)) || refuse_own_app "$(tail -n1 "$log")" "$run_dir/raw/services/$service/server.log"
			say "right answers recorded on $service"
			return
		fi
		save_own_log "$service"
		service_failed "$service" answer "${READY_TIMEOUT:-30}"
		stop_service "$service"
	done
	refuse_own_app "$OWN_APP gives no answer on any of ${*:1:tried}" "$run_dir/raw/services/$1/server.log"
}

save_own_log() { server_log "$1" >"$run_dir/raw/services/$1/server.log" 2>&1 || true; }

# refuse_own_app WORDS LOG: the app's own traceback, if LOG has one, and one line.
refuse_own_app() {
	local words
	words=$(in_tools python3 -m bench own-trace "results/${2#"$root/results/"}")
	[[ $words != *$'\n'* ]] || printf '%s\n' "${words%$'\n'*}" >&2
	fail 2 "$1${words:+: ${words##*$'\n'}}"
}

last_line() { tail -n1 "$1" | cut -c1-300 | sed 's/^/; its last words: /'; }

why_not() { sed -n 's/.*"detail": "\(.*\)"}/\1/p' "$run_dir/raw/services/$1/failure.json"; }

# check_own_answers NAME: what check_contract is for the contract.
check_own_answers() {
	local log=$run_dir/raw/services/$1/verify.txt status=0
	attend in_loadgen python3 -m bench own-answers check "$run" "$1" >"$log" 2>&1 || status=$?
	if ((status == 0)); then
		say "$1: answers as recorded"
	else
		save_log "$1"
		service_failed "$1" verification
	fi
}
