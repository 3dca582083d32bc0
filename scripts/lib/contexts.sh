# shellcheck shell=bash
# A run on two machines without a swarm: each is reached through a Docker context of its own, and the server's publishes ports on
# one of its addresses. The rest is as on a swarm (several.sh). Only declares; needs run.sh.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/several.sh
source "${BASH_SOURCE[0]%/*}/several.sh"

server_context='' loadgen_context='' server_address=''

# contexts_option WORD VALUE: sets the variable of this option.
contexts_option() {
	local name=${1#--}
	[[ ${2:-} ]] || fail 2 "$1 needs a value"
	printf -v "${name//-/_}" %s "$2"
}

# contexts_refuse WORD...: what these options do not go with, and a part of them without the others.
contexts_refuse() {
	local word
	[[ $server_context$loadgen_context$server_address ]] || return 0
	[[ ! $resume ]] || fail 2 "--resume goes on with the machines that the run began with: leave out --server-context"
	[[ ! $on_nodes ]] || fail 2 "--server-context is for two machines without a swarm: leave out --swarm"
	[[ $server_context && $loadgen_context && $server_address ]] ||
		fail 2 "--server-context, --loadgen-context and --server-address belong together: give all three"
	for word; do [[ $word != --loadgens* ]] || fail 2 "--loadgens has a node for each load generator, which only --swarm gives"; done
	several_refuses "$@"
}

# find_machines SERVER LOADGEN ADDRESS: sets `machines`, the lines of RUN/nodes.tsv.
find_machines() {
	local server loadgen
	server=$(ask_engine_of "$1")
	loadgen=$(ask_engine_of "$2")
	machines=$(in_tools python3 -m bench contexts "$3" <<<"$server"$'\n'"$loadgen")
}
machines=''

# ask_engine_of CONTEXT: as bench/swarm/contexts.py reads it.
ask_engine_of() {
	local reached words format=$'\t{{.ID}}\t{{.Name}}\t{{.NCPU}}\t{{.MemTotal}}\t{{.OSType}}\t{{.Architecture}}'
	reach "$1"
	words=$(timeout 30 "$docker" "${reached[@]}" info --format "$format" 2>&1) ||
		fail 2 "no Docker engine answers at $1: $(sed '/^\t/d; s/\r$//; /^$/d' <<<"$words" | tail -n1)"
	# ssh may have said something too.
	printf '%s%s\n' "$1" "$(grep $'^\t' <<<"$words")"
}

# place_run RUN: before anything of it is there.
place_run() { in_tools python3 -m bench contexts-place "results/$1" <<<"$machines"; }

# need_machines: a run goes on with those that it began with, as they were.
need_machines() {
	local kept address=${reader_at[server]%:*}
	if [[ $resume ]]; then
		kept=$(<"$run_dir/nodes.tsv")
		find_machines "${context_of[server]}" "${context_of[loadgen]}" "$address"
		[[ $machines == "$kept" ]] ||
			fail 2 "the machines are others than those that the run began with: ${machines//[$'\n\t']/ }, and not ${kept//[$'\n\t']/ }"
	fi
	say "server and database: ${node_of[server]}, at $address; load generator: ${node_of[loadgen]}; not encrypted"
}
