# shellcheck shell=bash
# A run, whoever starts the containers: verify each service once, then one measurement after the other.
# Only declares. The caller sets `run` and `run_dir` and declares what differs:
#   start_service NAME, start_log NAME, stop_service NAME, is_running NAME, server_log NAME, server_state NAME,
#   server_limits NAME, keep_facts NAME IMAGE, in_loadgen COMMAND..., report VERB...

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"

run='' run_dir='' image_id=''

# service_failed SERVICE OUTCOME DETAIL: its cells are not loaded, and the report says why.
service_failed() {
	say "$1: $2: $3"
	json_object outcome "$2" detail "$3" | save "$run_dir/raw/services/$1/failure.json"
}

# verify_services: the contract, once a service and run; what fails is not loaded.
verify_services() {
	local name image waits routes
	while IFS=$'\t' read -r -u 3 name image waits routes; do
		[[ ! -e $run_dir/raw/services/$name/failure.json ]] || continue
		keep_facts "$name" "$image"
		[[ -e $run_dir/raw/services/$name/verify.json ]] || verify_service "$name" "$waits" "$routes"
	done 3< <(report services "$run")
}

verify_service() {
	local name=$1 folder=$run_dir/raw/services/$1 status=0
	mkdir -p "$folder"
	if ! start_service "$name"; then
		service_failed "$name" "did not start" "$(tail -n1 "$(start_log "$name")")"
		return
	fi
	if ! await_answer "$name"; then
		server_log "$name" >"$folder/server.log" 2>&1 || true
		service_failed "$name" "did not start" "no answer in ${READY_TIMEOUT:-30} s; its last words: $(grep . "$folder/server.log" | tail -n1)"
		stop_service "$name"
		return
	fi
	server_limits "$name" | save "$folder/limits.txt"
	attend in_loadgen python3 -m report verify --service "$name" --base-url "http://$name:8080" "$2" --routes "$3" \
		--database-host postgres --database-password-file /run/secrets/database_password --upstream-control http://upstream:8081 \
		--json "results/$run/raw/services/$name/verify.json" >"$folder/verify.txt" 2>&1 || status=$?
	if ((status == 0)); then
		say "$name: verified ($(tail -n1 "$folder/verify.txt"))"
	else
		rm -f "$folder/verify.json"
		server_log "$name" >"$folder/server.log" 2>&1 || true
		service_failed "$name" "failed verification" "$(grep -m1 '^not ok' "$folder/verify.txt" || tail -n1 "$folder/verify.txt")"
	fi
	stop_service "$name"
}

# await_answer NAME: until the service answers anything at all, READY_TIMEOUT (30) s at most, or its container ends.
await_answer() {
	local give_up=$((SECONDS + ${READY_TIMEOUT:-30}))
	until in_loadgen curl --silent --output /dev/null --max-time 5 "http://$1:8080/"; do
		((SECONDS < give_up)) && is_running "$1" || return 1
		sleep 0.1
	done
}

# measure_all: every step that has no complete record yet.
measure_all() {
	local id service dir seconds label steps left=0 done=0 count total=0
	steps=$(report steps "$run")
	count=$(grep -c . <<<"$steps" || true)
	while IFS=$'\t' read -r id service dir seconds label; do ((total += seconds)) || true; done <<<"$steps"
	left=$total began=$SECONDS
	while IFS=$'\t' read -r -u 3 id service dir seconds label; do
		[[ $id ]] || continue
		outcome='not loaded'
		[[ -e $run_dir/raw/services/$service/failure.json ]] || measure_one "$id" "$service" "$run_dir/$dir"
		((done += 1, left -= seconds)) || true
		progress "$done" "$count" "$left" "$total" "$label: $outcome"
	done 3<<<"$steps"
	[[ ! -t 2 ]] || say
}

# measure_one ID SERVICE DIR: fresh container, first good answer, warm-up, load, down. meta.json comes last.
measure_one() {
	local id=$1 service=$2 dir=$3 begin loaded status=0 detail='' ready='' warm=''
	begin=$(date +%s%N) outcome=measured
	mkdir -p "$dir"
	if ! start_service "$service"; then
		outcome="did not start" detail=$(tail -n1 "$(start_log "$service")")
	else
		attend in_loadgen loadgen/measure prepare "results/$run" "$id" >"$dir/prepare.txt" 2>&1 || status=$?
		read_outcome "$status" "$service" "$dir/prepare.txt"
		ready=$(sed -n 's/^ready //p' "$dir/prepare.txt") warm=$(sed -n 's/^warm //p' "$dir/prepare.txt")
	fi
	if [[ $outcome == measured ]]; then
		server_state "$service" | save "$dir/server.before"
		attend in_loadgen loadgen/measure run "results/$run" "$id" >"$dir/run.txt" 2>&1 || status=$?
		server_state "$service" | save "$dir/server.after"
		read_outcome "$status" "$service" "$dir/run.txt"
		! grep -q '^running false' "$dir/server.after" || outcome=died detail="the container ended under load"
	fi
	loaded=$(date +%s%N)
	[[ $outcome == measured ]] || server_log "$service" >"$dir/server.log" 2>&1 || true
	stop_service "$service"
	json_object schema 1 id "$id" outcome "$outcome" detail "$detail" image_id "${image_id:-null}" begin_ns "$begin" \
		ready_ns "${ready:-null}" warm_ns "${warm:-null}" loaded_ns "$loaded" end_ns "$(date +%s%N)" | save "$dir/meta.json"
}

# read_outcome STATUS SERVICE FILE: sets `outcome` and `detail` from what loadgen/measure said in FILE.
read_outcome() {
	case $1 in
	0) return ;;
	10) outcome="did not start" ;;
	11) outcome="answers wrongly" ;;
	*) outcome="load tool failed" ;;
	esac
	detail=$(grep . "$3" | tail -n1)
	if [[ $outcome != "did not start" ]] && ! is_running "$2"; then outcome=died; fi
}

# progress DONE COUNT LEFT TOTAL TEXT: one line, kept on a terminal, else one a measurement. Times are
# expected seconds, corrected by how long the ones behind us really took.
progress() {
	local spent=$((SECONDS - began)) expected=$(($4 - $3)) eta=$3
	((expected == 0)) || eta=$(($3 * spent / expected))
	if [[ -t 2 ]]; then
		printf '\r\033[K[%d/%d] %d:%02d left  %.*s' "$1" "$2" $((eta / 60)) $((eta % 60)) "$((${COLUMNS:-80} - 24))" "$5" >&2
	else
		say "[$1/$2] $5"
	fi
}
