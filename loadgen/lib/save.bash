# shellcheck shell=bash
# The load itself and its files. Each file is written under a temporary name, synced and renamed, so that one with
# its final name is whole; tool.json comes last.

# The start of the command that ends a load tool which hangs.
declare -a GUARD=()

run_and_save() {
	local status=0 saved=0 full='' watcher began dir=${LOAD[DIR]}
	local seen=$dir/.waits.tmp
	mkdir -p "$dir"
	rm -f "$dir"/{tool.json,output.txt,output.json,results.bin,lag.json,latencies.json,.waits.tmp}
	[[ -z ${LOAD[BODY]} ]] || printf '%s' "${LOAD[BODY]}" >"${LOAD[BODY_FILE]}"
	# Room for tool.json is taken now: a disk that the load fills must not hide how it ended.
	fallocate --length 64KiB "$dir/.tool.json.tmp" 2>/dev/null || fail 12 "cannot write 64 KiB to $dir"
	guard
	add_limits
	await_start
	snapshot before
	read_up
	began=$UP
	FACTS+=(start_ns "$(now)")
	watch_waits "$seen" >/dev/null 2>&1 &
	watcher=$!
	adapter run || status=$?
	FACTS+=(end_ns "$(now)" exit_status "$status")
	read_up
	FACTS+=(elapsed_ns "$((UP - began))0000000")
	snapshot after
	# The watcher ends by a signal: its status says nothing.
	{ kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
	add_waits "$seen"
	rm -f "$seen"
	add_health
	adapter save || saved=$?
	# wrk and ab do not tell that their output could not be written.
	{ head -c 65536 /dev/zero >"$dir/.room.tmp"; } 2>/dev/null || full=yes
	rm -f "$dir/.room.tmp"
	write_tool_json
	publish
	((status != 124 && status != 137)) || fail 12 "${LOAD[TOOL]} did not end within ${LOAD[DEADLINE]} s, and was killed: $(last_words)"
	((status == 0)) || fail 12 "${LOAD[TOOL]} ended with status $status: $(last_words)"
	[[ ! $full ]] || fail 12 "$dir has no room for the output of ${LOAD[TOOL]}: No space left on device"
	((saved == 0)) || fail 12 "the reports of ${LOAD[TOOL]} could not be saved: $(last_words)"
}

# Sets GUARD for the deadline of the load.
guard() { GUARD=(timeout --kill-after 10 "${LOAD[DEADLINE]}"); }

# What most adapters need to run: all output in one file, as it comes.
run_to_output() { "${GUARD[@]}" "${ARGV[@]}" >"${LOAD[DIR]}/.output.txt.tmp" 2>&1 </dev/null; }

# The last line of the tool's output.
last_words() {
	local file=${LOAD[DIR]}/output.txt
	[[ ! -r $file ]] || shorten "$(tail -n 1 "$file")"
}

# The command and FACTS as NUL-separated words: Python makes JSON of them. After the load, so that none of it is counted.
write_tool_json() {
	local version
	# wrk prints its version with status 1; a tool that does not tell has null.
	version=$(adapter version 2>/dev/null) || true
	printf '%s\0' "${LOAD[TOOL]}" "$version" "$STDIN" "${#ARGV[@]}" "${ARGV[@]}" "${FACTS[@]}" |
		report tool-json "${LOAD[DIR]}/.tool.json.tmp" || fail 12 "cannot write ${LOAD[DIR]}/tool.json"
}

# Renames the files that are there, tool.json last.
publish() {
	local name files=()
	for name in output.txt output.json results.bin lag.json latencies.json tool.json; do
		[[ ! -e ${LOAD[DIR]}/.$name.tmp ]] || files+=("${LOAD[DIR]}/.$name.tmp")
	done
	sync "${files[@]}"
	for name in "${files[@]##*/.}"; do
		mv "${LOAD[DIR]}/.$name" "${LOAD[DIR]}/${name%.tmp}"
	done
}
