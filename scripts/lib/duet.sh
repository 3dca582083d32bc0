# shellcheck shell=bash
# One round of a pair: two services under the same load in the same seconds, in two windows. Only declares; needs what
# verify.sh needs.

# shellcheck source=scripts/lib/second.sh
source "${BASH_SOURCE[0]%/*}/second.sh"
# shellcheck source=scripts/lib/solo.sh
source "${BASH_SOURCE[0]%/*}/solo.sh"

project='' docker=${docker:-}

# measure_pair UNIT A B DIR: fresh containers of both, first good answers, warm-up, two windows, down. B's is Compose's
# service `second`, so that a service can stand beside itself.
measure_pair() {
	local unit=$1 a=$2 dir=$4 window detail='' begin
	local -A pid=() image=() address=() database=()
	begin=$(date +%s%N) outcome=measured
	mkdir -p "$dir"/{1,2}{a,b}
	if ! start_pair "$a" "$3"; then
		outcome="did not start" detail=$(tail -n1 "$(start_log "$a")")
	else
		pair_verb prepare 1
	fi
	for window in 1 2; do
		[[ $outcome != measured ]] || load_pair "$window"
		end_window "$window"
	done
	remove_service "$a"
	remove_service second
}

# load_pair WINDOW: counters, both loads at once, counters.
load_pair() {
	pair_state "$1" before
	pair_verb run "$1"
	pair_state "$1" after
}

pair_state() {
	local side
	server_state "$a" "${pid[a]}" | save "$dir/$1a/server.$2"
	server_state second "${pid[b]}" | save "$dir/$1b/server.$2"
	for side in "${!database[@]}"; do backing_state "${database[$side]}" | save "$dir/$1$side/database.$2"; done
}

# pair_verb VERB WINDOW: loadgen/measure VERB for both sides at once; sets `outcome` and `detail` where one fails.
pair_verb() {
	local statuses=() status side
	attend in_loadgen loadgen/pair "$1" "results/$run" "$unit-$2" "${address[a]}" "${address[b]}" >"$dir/$1-$2.txt" 2>&1 || true
	for side in a b; do
		status=$(sed -n "s/^status $side //p" "$dir/$1-$2.txt")
		statuses+=("${status:-12}")
	done
	grep "^a " "$dir/$1-$2.txt" | sed 's/^a //' >"$dir/$2a/$1.txt" || true
	grep "^b " "$dir/$1-$2.txt" | sed 's/^b //' >"$dir/$2b/$1.txt" || true
	read_outcome "${statuses[0]}" "$a" "$dir/$2a/$1.txt"
	[[ $outcome != measured ]] || read_outcome "${statuses[1]}" second "$dir/$2b/$1.txt"
}

# end_window WINDOW: both meta.json, which say that the window is whole.
end_window() {
	local side
	for side in a b; do
		json_object schema 1 id "$unit-$1$side" outcome "$outcome" detail "$detail" image_id "${image[$side]:-null}" \
			begin_ns "$begin" end_ns "$(date +%s%N)" | save "$dir/$1$side/meta.json"
	done
}
