# shellcheck shell=bash
# One round of a pair: two services under the same load in the same seconds, in two windows. Only declares; needs what
# verify.sh needs.

# shellcheck source=scripts/lib/solo.sh
source "${BASH_SOURCE[0]%/*}/solo.sh"

project='' docker=${docker:-}

# measure_pair UNIT A B DIR: fresh containers of both, first good answers, warm-up, two windows, down. A service beside
# itself has two containers.
measure_pair() {
	local unit=$1 a=$2 b=$3 dir=$4 window replica=1 detail='' begin
	local -A pid=() image=() address=()
	begin=$(date +%s%N) outcome=measured
	[[ $a != "$b" ]] || replica=2
	mkdir -p "$dir"/{1,2}{a,b}
	if ! start_pair "$a" "$b"; then
		outcome="did not start" detail=$(tail -n1 "$(start_log "$a")")
	else
		pair_verb prepare 1
	fi
	for window in 1 2; do
		[[ $outcome != measured ]] || load_pair "$window"
		end_window "$window"
	done
	remove_service "$a"
	remove_service "$b" "$replica"
}

start_pair() {
	local scale=() format='{{.State.Pid}} {{.Image}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
	[[ $1 != "$2" ]] || scale=(--scale "$1=2")
	run_compose up --detach --no-deps --no-build --force-recreate --timeout 0 "${scale[@]}" "$1" "$2" loadgen >"$(start_log "$1")" 2>&1 &&
		read -r "pid[a]" "image[a]" "address[a]" < <("$docker" inspect --format "$format" "$project-$a-1") &&
		read -r "pid[b]" "image[b]" "address[b]" < <("$docker" inspect --format "$format" "$project-$b-$replica")
}

# load_pair WINDOW: counters, both loads at once, counters.
load_pair() {
	pair_state "$1" before
	pair_verb run "$1"
	pair_state "$1" after
}

pair_state() {
	server_state "$a" 1 "${pid[a]}" | save "$dir/$1a/server.$2"
	server_state "$b" "$replica" "${pid[b]}" | save "$dir/$1b/server.$2"
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
	[[ $outcome != measured ]] || read_outcome "${statuses[1]}" "$b" "$dir/$2b/$1.txt" "$replica"
}

# end_window WINDOW: both meta.json, which say that the window is whole.
end_window() {
	local side
	for side in a b; do
		json_object schema 1 id "$unit-$1$side" outcome "$outcome" detail "$detail" image_id "${image[$side]:-null}" \
			begin_ns "$begin" end_ns "$(date +%s%N)" | save "$dir/$1$side/meta.json"
	done
}
