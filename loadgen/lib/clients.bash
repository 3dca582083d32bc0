# shellcheck shell=bash
# Several load generators on one service: they begin at one moment, and their outputs become one.

# await_start: until START_AT; which moment that was is in tool.json, so that a late start is seen.
await_start() {
	local left never
	[[ ${START_AT:-} ]] || return 0
	[[ $START_AT =~ ^[1-9][0-9]{18}$ ]] || fail 2 "START_AT='$START_AT' is no time in nanoseconds since the epoch"
	FACTS+=(start_at_ns "$START_AT")
	# Asked once: a clock that is set meanwhile would keep it waiting.
	left=$((START_AT / 1000 - ${EPOCHREALTIME/[.,]/}))
	((left <= 30000000)) || fail 2 "START_AT='$START_AT' is more than 30 s ahead of this machine's clock"
	((left > 0)) || return 0
	printf -v left '%d.%06d' $((left / 1000000)) $((left % 1000000))
	exec {never}<> <(:) # nothing ever comes from there: a pause that starts no process
	read -r -t "$left" -u "$never" || true
	exec {never}<&-
}

# merge_clients: of the folders that the step's clients have left, in the folder of the whole.
merge_clients() {
	local folders=() name number=0 dir=${LOAD[DIR]}
	for name in "${STEP_CLIENTS[@]}"; do
		((number += 1))
		[[ -r $dir/client-$number/tool.json ]] || fail 12 "client $number of ${#STEP_CLIENTS[@]} has left no tool.json"
		folders+=("$dir/client-$number")
	done
	((number > 1)) || fail 2 "the step has one load generator: there is nothing to merge"
	rm -f "$dir"/{,.}{output.txt,output.json,latencies.json}{,.tmp}
	for name in "${folders[@]}"; do
		printf '== %s of %d ==\n' "${name##*/}" "$number"
		cat "$name/output.txt" || return
	done >"$dir/.output.txt.tmp"
	adapter merge "${folders[@]}" || fail 12 "the outputs of ${LOAD[TOOL]} cannot be merged"
	publish
}
