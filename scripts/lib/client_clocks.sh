# shellcheck shell=bash
# Where each of several load generators is, and by how much its clock differs from this machine's. Only declares; containers.sh has
# what it needs.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# role_of_client NUMBER: sets far_role, which away.sh uses too.
role_of_client() {
	far_role=loadgen
	(($1 == 1)) || far_role=loadgen-$1
}

# in_client NUMBER COMMAND...: in its container.
in_client() {
	if [[ $several ]]; then
		at "$far_role" exec "$project-loadgen-1" "${@:2}"
	else
		"$docker" exec "$project-loadgen-$1" "${@:2}"
	fi
}

# read_client_clocks: of each a line `NODE<tab>AHEAD_NS<tab>WITHIN_NS` (bench/run/clients.py). On this machine there is one clock.
read_client_clocks() {
	local number far_role
	for ((number = 1; number <= ${#STEP_CLIENTS[@]}; number++)); do
		role_of_client "$number"
		if [[ ! $several ]]; then
			printf -- '-\t0\t0\n'
		elif ! read_client_clock; then
			echo "client $number: its clock cannot be asked" >&2
			return 1
		fi
	done
}

# read_client_clock: that of far_role, asked again and again in one session, as what is said most quickly is known best: within half of the
# time that it took. (In a shell of its own: bash forgets a session that ends.)
read_client_clock() (
	local before there after took best='' ahead=0 try to from
	# shellcheck disable=SC2016 # for the shell there
	coproc clock {
		at "$far_role" exec --interactive "$project-loadgen-1" bash -c 'while read -r; do echo "${EPOCHREALTIME/[.,]/}000"; done' 2>/dev/null
	}
	exec {from}<&"${clock[0]}" {to}>&"${clock[1]}" || return
	for try in {1..8}; do
		before=${EPOCHREALTIME/[.,]/}000
		echo >&"$to" || return
		read -r -t 20 there <&"$from" || return
		after=${EPOCHREALTIME/[.,]/}000
		took=$((after - before))
		[[ $try == 1 ]] || ((took < best)) || continue
		best=$took ahead=$((there - before - took / 2))
	done
	printf '%s\t%d\t%d\n' "${node_of[$far_role]}" "$ahead" "$((best / 2))"
	eval "exec $to>&- ${clock[1]}>&-" || return
	# shellcheck disable=SC2154 # bash sets it
	wait "$clock_PID" || true
)
