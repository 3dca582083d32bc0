#!/usr/bin/env bats
# WebSockets and server-sent events of two servers: messages and unpaced events in turns, paced events one service after the other,
# and what SIGTERM does to open WebSockets.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	cat >>services/matrix.local.toml <<-'TOML'
		[presets.streams-of-two]
		title = "Streams of two servers"
		stacks = ["uvicorn-asgi", "granian-asgi-asgi"]
		rounds = 1
		turn_rounds = 1
		duration = 1
		workers = 1
		loads = [{ scenarios = ["ws-echo-16", "sse-unpaced", "sse-paced-20"], tools = ["streams"], levels = ["c4"] }]
	TOML
	measure loads --preset streams-of-two
	measure events --event stop-streams-64-websockets --stack uvicorn-asgi,granian-asgi-asgi --rounds 1
}

# measure NAME OPTION...: makes a run, which gets this name.
measure() {
	scripts/matrix.sh "${@:2}" --controls none >"$BATS_FILE_TMPDIR/said" 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	mv "$(the_run)" "results/$1"
}

setup() { cd "$BATS_FILE_TMPDIR/project" || return; }

# of_records EXPRESSION: evaluates it with the `records` of loads, and those of `events`.
of_records() {
	python3 - "$1" <<-'EOF'
		import json, sys
		def read(name):
		    return [json.loads(line) for line in open(f"results/{name}.jsonl")]
		records, events = read("loads/records"), read("events/events")
		if not eval(sys.argv[1]):
		    sys.exit(f"{sys.argv[1]}\n" + "\n".join(map(str, [*records, *events])))
	EOF
}

@test "messages and events are counted, and none is wrong" {
	busy_host_causes results/loads
	of_records 'sorted((r["scenario"], r["tool"]) for r in records) == sorted(2 * [(s, "streams") for s in ("ws-echo-16", "sse-unpaced", "sse-paced-20")])'
	of_records 'all(r["outcome"] == "measured" and r["successes"] > 100 and not any((r["errors"] or {}).values()) for r in records)'
	of_records 'all(r["cpu_per_success_s"] for r in records if r["valid"])'
}

# Four streams are open half of the time and more: 50 events a second each.
@test "paced streams have their pace" {
	of_records 'all(170 < r["goodput"] <= 205 for r in records if r["scenario"] == "sse-paced-20" and r["valid"])'
	of_records 'all(r["latency_s"]["p50"] < 1 for r in records if r["scenario"] == "sse-paced-20" and r["valid"])'
}

@test "figures are for what is counted" {
	grep -q 'messages/s' results/loads/report.md
	grep -q 'events/s' results/loads/report.md
	grep -q 'CPU per event' results/loads/report.md
	grep -q 'CPU per message' results/loads/index.html
}

@test "at SIGTERM, all that were open are accounted for" {
	of_records 'len(events) == 2 and all(e["happened"] for e in events)'
	of_records 'all(e["extras"]["streams"] + e["extras"]["streams_refused"] == 64 for e in events)'
	grep -qE '(On|After) SIGTERM, ' results/events/report.md || of_records 'any(e["causes"] for e in events)'
}
