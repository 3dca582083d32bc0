# shellcheck shell=bash
# One round of a pair: two services under the same load in the same seconds, in two windows. Only declares; measure.sh says
# what the engine has to offer.

# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# measure_pair: fresh containers of both, first good answers, warm-up, two windows, down. Adds to `facts`. Side b has a
# container name of its own, so that a service can be paired with itself.
measure_pair() {
	local a=${STEP_SERVICES[0]} dir=$run_dir/$STEP_DIR status=0 window
	mkdir -p "$dir"/{1,2}{a,b}
	start_pair "$a" "${STEP_SERVICES[1]}" || status=$?
	facts+=("start_status=$status" "image_a=${side_image[a]:-}" "image_b=${side_image[b]:-}")
	((status != 0)) || pair_verb prepare 1
	for window in 1 2; do
		((status != 0)) || load_window "$window"
		facts+=("end_${window}_ns=$(now_ns)")
	done
	stop_pair "$a"
}

# load_window WINDOW: counters, both loads at once, counters.
load_window() {
	save_pair_counters "$1" before
	pair_verb run "$1"
	save_pair_counters "$1" after
}

# save_pair_counters WINDOW WHEN: of both sides; where answers need a database, each side has its own.
save_pair_counters() {
	local side index=0
	server_state "$a" "${side_pid[a]}" | save "$dir/$1a/server.$2"
	server_state side-b "${side_pid[b]}" | save "$dir/$1b/server.$2"
	for side in a b; do
		[[ ! ${STEP_DATABASES[index]} ]] || dependency_state "${STEP_DATABASES[index]}" | save "$dir/$1$side/database.$2"
		((index += 1))
	done
}

# pair_verb VERB WINDOW: loadgen/measure VERB for both sides at once; sets `status` of measure_pair, not 0 where one fails.
pair_verb() {
	local output=$dir/$1-$2.txt
	status=0
	attend in_loadgen loadgen/pair "$1" "results/$run" "$2" "${side_address[a]}" "${side_address[b]}" >"$output" 2>&1 || status=$?
	facts+=("$1_$2_status=$status")
	((status == 0)) || alive_sides
}

# alive_sides: which containers run on after a failure.
alive_sides() {
	local alive=yes
	is_running "$a" || alive=no
	facts+=("alive_a=$alive")
	alive=yes
	is_running side-b || alive=no
	facts+=("alive_b=$alive")
}
