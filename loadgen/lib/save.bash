# shellcheck shell=bash
# The load itself and its files. Each file is written under a temporary name, synced and renamed, so that one with
# its final name is whole; tool.json comes last.

run_and_save() {
	local status=0 facts=() watcher seen=$DIR/.waits.tmp
	mkdir -p "$DIR"
	rm -f "$DIR"/{tool.json,output.txt,output.json,results.bin,lag.json,latencies.json,.waits.tmp}
	[[ -z $BODY_FILE ]] || printf '%s' "$BODY" >"$BODY_FILE"
	# Room for tool.json is taken now: a disk that the load fills must not hide how it ended.
	fallocate --length 64KiB "$DIR/.tool.json.tmp" 2>/dev/null || fail 12 "cannot write 64 KiB to $DIR"
	guard
	limits
	snapshot before
	facts+=(start_ns "$(now)")
	watch_waits "$seen" >/dev/null 2>&1 &
	watcher=$!
	tool_run || status=$?
	facts+=(end_ns "$(now)" exit_status "$status")
	snapshot after
	{ kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
	waits "$seen"
	rm -f "$seen"
	check_health
	tool_save || true
	write_tool_json
	publish
	((status == 0)) || fail 12 "$TOOL ended with status $status: $(shorten "$(tail -n 1 "$DIR/output.txt")")"
}

# Sets what ends a tool that hangs.
guard() { GUARD=(timeout --kill-after 10 "$DEADLINE"); }

# What most tools need for tool_run: all output in one file, as it comes.
run_to_output() { "${GUARD[@]}" "${ARGV[@]}" >"$DIR/.output.txt.tmp" 2>&1 </dev/null; }

write_tool_json() {
	local file=$DIR/.tool.json.tmp json
	json=$(jq --null-input --compact-output --arg tool "$TOOL" --arg version "$(tool_version)" --arg stdin "$STDIN" \
		--argjson argc "${#ARGV[@]}" '
		def filled: if . == "" then null else . end;
		$ARGS.positional[:$argc] as $argv | $ARGS.positional[$argc:] as $facts
		| reduce range(0; $facts | length; 2) as $i ({}; setpath($facts[$i] / "/"; $facts[$i + 1]))
		| {schema: 1, tool: $tool, tool_version: ($version | filled), argv: $argv, stdin: ($stdin | filled)} + .
		| reduce ("exit_status", "start_ns", "end_ns") as $name (.; .[$name] |= tonumber)
		| .limits.nofile |= (if . == "unlimited" then null else tonumber end)
		| .health_after |= {status: (.status | tonumber | if . == 0 then null else . end),
		                    time_s: (.time_s | tonumber), error: (.error | filled)}
		' --args -- "${ARGV[@]}" "${facts[@]}")
	printf '%s\n' "$json" 1<>"$file"
	truncate --size $((${#json} + 1)) "$file"
}

publish() {
	local name files=()
	for name in output.txt output.json results.bin lag.json latencies.json tool.json; do
		[[ ! -e $DIR/.$name.tmp ]] || files+=("$DIR/.$name.tmp")
	done
	sync "${files[@]}"
	for name in "${files[@]##*/.}"; do
		mv "$DIR/.$name" "$DIR/${name%.tmp}"
	done
}
