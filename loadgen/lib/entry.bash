# shellcheck shell=bash
# One entry of plan.jsonl as variables, and as the command line of its tool.

# Sets from the entry ID of RUN_DIR/plan.jsonl: DIR URL METHOD BODY BODY_FILE EXPECT TOOL CONNECTIONS COUNT RATE
# RATE_PER_CONNECTION DURATION TIMEOUT THREADS WARMUP KEEPALIVE DEADLINE KNEE_P99 KNEE_SHARE. What the entry leaves out is empty;
# times are in seconds, and a whole number is written without a fraction. An adapter then fills ARGV, and STDIN with
# what its tool reads from there.
read_entry() {
	local plan=$1/plan.jsonl id=$2 values
	[[ -r $plan ]] || fail 2 "no readable plan at $plan"
	# grep finds the line a hundred times faster than jq reads a long plan; jq makes sure that it is the one.
	mapfile -d '' -t values < <(grep -F -- "\"$id\"" "$plan" |
		jq -j --arg run "$1" --arg id "$id" --argjson grace "${GRACE:-10}" --argjson count_deadline "${COUNT_DEADLINE:-600}" '
			def text: if . == null then "" elif type == "number" and . == floor then floor | tostring else tostring end;
			select(.id == $id)
			| ["\($run)/\(.dir)", "http://\($ENV.TARGET // .host // .service):8080\(.path)", .method // "GET",
			   .body, (if .body then "\($run)/\(.dir)/request-body" else null end), .expect,
			   .tool, .connections, .count, .rate, (if .rate and .connections then .rate / .connections else null end),
			   .duration_s, .timeout_s, .threads // 1, .warmup_s // 0, .keepalive != false,
			   (if .duration_s then .duration_s + .timeout_s + $grace else $count_deadline end),
			   .knee_p99_s, .knee_share]
			| map(text + "\u0000") | add')
	[[ ${#values[@]} -eq 19 ]] || fail 2 "no measurement $id in $plan, or more than one"
	read_values DIR URL METHOD BODY BODY_FILE EXPECT TOOL CONNECTIONS COUNT RATE RATE_PER_CONNECTION \
		DURATION TIMEOUT THREADS WARMUP KEEPALIVE DEADLINE KNEE_P99 KNEE_SHARE
	[[ $TOOL =~ ^[a-z]+$ && -r $HERE/adapters/$TOOL ]] || fail 2 "unknown tool '$TOOL' in $id of $plan"
	[[ -n $TIMEOUT ]] || fail 2 "$id of $plan has no timeout_s"
	ARGV=() STDIN=
}

# Gives each named variable the next one of the caller's `values`.
read_values() {
	local index=0 name
	for name in "$@"; do
		printf -v "$name" '%s' "${values[index++]}"
	done
}

cannot() { fail 2 "$TOOL cannot $*"; }

# Fails unless the named variables hold whole numbers of 1 or more: what the tool has no finer unit for.
need_whole() {
	local name
	for name in "$@"; do
		[[ ${!name} =~ ^[1-9][0-9]*$ ]] || cannot "take a ${name,,} of '${!name}': whole numbers from 1 only"
	done
}

# Fails unless one, and only one, of duration and count is given, and a count is enough for all connections.
need_duration_or_count() {
	need_whole CONNECTIONS
	[[ -n $DURATION$COUNT && (-z $DURATION || -z $COUNT) ]] || cannot "do both or neither of a duration and a count"
	[[ -z $COUNT ]] || { need_whole COUNT && ((COUNT >= CONNECTIONS)); } ||
		cannot "make $COUNT requests on $CONNECTIONS connections: at least one for each"
}

# The command as one would type it.
print_command() {
	local line
	printf -v line '%q ' "${ARGV[@]}"
	echo "${line% }${STDIN:+ <<<${STDIN@Q}}"
}
