# shellcheck shell=bash
# What a run on two machines without a swarm needs on them: images from here, networks, and a way from the load generator to
# the server. Only declares; several.sh calls it.

# shellcheck source=scripts/lib/copy_images.sh
source "${BASH_SOURCE[0]%/*}/copy_images.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# send_to_machines IMAGE...: all to the server's, and to the other one the load generator's.
send_to_machines() {
	spawn 8 copy_image "${context_of[server]}" "$@"
	spawn 8 copy_image "${context_of[loadgen]}" bench/loadgen
	await_spawned
}

# make_networks: database and services are in an internal network, as on one machine; another one publishes ports. Compose wants both
# on each machine.
make_networks() {
	make_machine_network server inner "$project"
	make_machine_network server outer "$project-outer"
	make_machine_network loadgen inner "$project"
	make_machine_network loadgen loadgen "$project-outer"
}

# make_machine_network ROLE KIND NAME: as bench/swarm/contexts.py has this kind.
make_machine_network() {
	local options
	! at "$1" network inspect "$3" >/dev/null 2>&1 || return 0
	options=$(in_tools python3 -m bench contexts-network "$2" "$BENCH_SUBNET")
	mapfile -t options <<<"$options"
	at "$1" network create "${options[@]}" --label "com.docker.compose.project=$project" "$3" >/dev/null 2>"$run_dir/start.log" ||
		fail 2 "${node_of[$1]} makes no network in $BENCH_SUBNET: $(tail -n1 "$run_dir/start.log")"
}

# need_way: whether the load generator's machine reaches what the server's publishes, with a reader behind it.
need_way() {
	local address=${reader_at[server]} tries
	for ((tries = 0; tries < 5; tries++)); do
		# shellcheck disable=SC2016 # for the shell there
		! at loadgen run --rm --network "$project-outer" "${confined[@]}" --label "com.docker.compose.project=$project" bench/loadgen timeout 5 bash -c \
			'exec 3<>"/dev/tcp/${0%:*}/${0##*:}" && read -r line <&3 && [[ $line == *boot* ]]' "$address" 2>/dev/null || return 0
		sleep 0.5
	done
	fail 2 "${node_of[loadgen]} does not reach $address of ${node_of[server]}: another network, or a closed port (docs/several-machines.md)?"
}
