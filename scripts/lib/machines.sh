# shellcheck shell=bash
# The options of scripts/matrix.sh for several machines: what they do not go with. Only declares; matrix.sh sets `swarm` and
# `resume`.
# shellcheck disable=SC2154

# --server-context, --loadgen-context and --server-address
machines=()
declare -gA machine=()

# machine_option WORD VALUE: takes one of them.
machine_option() {
	[[ ${2:-} ]] || fail 2 "$1 needs a value"
	machine[$1]=$2
}

# need_machines_alone WORD...: sets `machines`, or says what of the selection does not go with several machines, or is missing.
need_machines_alone() {
	local word
	if ((${#machine[@]})); then
		[[ ! $resume ]] || fail 2 "--resume goes on with the machines that the run began with: leave out --server-context"
		((${#swarm[@]} == 0)) || fail 2 "--server-context is for two machines without a swarm: leave out --swarm"
		((${#machine[@]} == 3)) || fail 2 "--server-context, --loadgen-context and --server-address belong together: give all three"
		for word; do [[ $word != --loadgens* ]] || fail 2 "--loadgens has a node for each load generator, which only --swarm gives"; done
		machines=("${machine["--server-context"]}" "${machine["--loadgen-context"]}" "${machine["--server-address"]}")
	fi
	((${#machines[@]} + ${#swarm[@]})) || return 0
	for word; do
		case $word in
		--app | --app=* | --target | --target=* | --profile)
			fail 2 "${word%%=*} measures on this machine alone: leave it out where the run is on several"
			;;
		esac
	done
}
