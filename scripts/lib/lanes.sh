# shellcheck shell=bash
# Steps side by side on a swarm: each lane is a pair of nodes, with a Compose project of its own (network, load generator, database,
# upstream, readers); the first one is the run's. Python decides which step is made on which (bench/drive/waves.py). Only
# declares; needs several.sh.

# shellcheck source=scripts/lib/dependencies.sh
source "${BASH_SOURCE[0]%/*}/dependencies.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/lanes_left.sh
source "${BASH_SOURCE[0]%/*}/lanes_left.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# choose_lanes ROLES: as many as there are pairs of nodes. Sets `lanes`.
choose_lanes() {
	local words
	words=$(in_tools python3 -m bench lanes "results/$run" "$BENCH_SUBNET" <<<"$1")
	[[ ! $words ]] || say "$words"
	[[ -s $run_dir/lanes.tsv ]] || return 0
	lanes=$(wc -l <"$run_dir/lanes.tsv")
	enter_lane 1
}

# enter_lane N: from here on this shell works on it: its project, nodes, files and part of the subnet.
# shellcheck disable=SC2034 # lane_cpus is ready_lane's
enter_lane() {
	name_lane "$1"
	read -r _ BENCH_SUBNET lane_cpus < <(sed -n "$1p" "$run_dir/lanes.tsv")
	export BENCH_SUBNET
	open_nodes
}

# ready_lanes: all but the first.
ready_lanes() {
	local n
	for ((n = 2; n <= lanes; n++)); do spawn "$lanes" ready_lane "$n"; done
	await_spawned
}

ready_lane() {
	local lane_cpus
	enter_lane "$1"
	in_tools python3 -m bench lane-compose "$project" "$lane_cpus" <"$run_dir/compose.yml" | save "$run_dir/${lane}compose.yml"
	make_network
	fill_nodes
	start_dependencies
	save "$run_dir/${lane}apart" <<<"$apart"
}

# measure_wave: a step on each lane that has one. Where a step fails as a whole, as with a lost node, the others come to their end.
measure_wave() {
	local n folder=''
	for ((n = 1; n <= lanes; n++)); do
		((n == 1)) || folder=lanes/$n/
		[[ ! -e $run_dir/${folder}step.sh ]] || spawn "$lanes" measure_lane "$n"
	done
	await_spawned
}

measure_lane() {
	enter_lane "$1"
	[[ ! -e $run_dir/${lane}apart ]] || read -r apart <"$run_dir/${lane}apart"
	# What was started again in an earlier step is another process now.
	if ! find_dependencies; then
		need_nodes
		fail 1 "the database, upstream or load generator of nodes ${node_of[*]} is gone"
	fi
	measure_step
}

# say_speed_up: of all steps by now.
say_speed_up() {
	local words
	words=$(bench lanes-speed-up "results/$run")
	say "$words"
}
