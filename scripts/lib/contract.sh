# shellcheck shell=bash
# What the verifier says of one service. Only declares; verify.sh calls it.

# shellcheck source=scripts/lib/retry_timeouts.sh
source "${BASH_SOURCE[0]%/*}/retry_timeouts.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# check_contract NAME CROWD: the verifier itself writes what failed. Where it wrote nothing, it was cut, by the engine or the
# machine.
check_contract() {
	local folder=results/$run/raw/services/$1 log=$run_dir/raw/services/$1/verify.txt status=0 last
	attend in_loadgen python3 -m bench verify --service "$1" --base-url "http://$1:8080" "${WAITS_OF[$1]}" --routes "${ROUTES_OF[$1]}" \
		--framework "${FRAMEWORK_OF[$1]:-}" \
		--database-host postgres --database-password-file /run/secrets/database_password --upstream-control http://upstream:8081 \
		--json "$folder/verify.json" --failure "$folder/failure.json" >"$log" 2>&1 || status=$?
	if ((status == 0)); then
		last=$(tail -n1 "$log")
		say "$1: verified ($last)"
	elif [[ $2 ]] && { ((status == only_late)) || [[ ! -e $run_dir/raw/services/$1/failure.json ]]; }; then
		set_aside "$1"
	else
		save_log "$1"
		service_failed "$1" verification "$status"
	fi
}

# end_under_load NAME CROWD: one more check. One that was killed beside others may have been late too.
end_under_load() {
	check_shutdown "$1"
	[[ ! $2 || $stopped != 137 ]] || set_aside "$1"
}
