# shellcheck shell=bash
# One measurement of one service, and what the load generator said of it. Only declares; needs what verify.sh needs.

# shellcheck source=scripts/lib/verify.sh
source "${BASH_SOURCE[0]%/*}/verify.sh"

image_id='' started_ns=''

# measure_one ID SERVICE DIR: fresh container, first good answer, warm-up, load, down. meta.json comes last.
measure_one() {
	local id=$1 service=$2 dir=$3 begin loaded status=0 detail='' ready='' warm=''
	begin=$(date +%s%N) outcome=measured
	mkdir -p "$dir"
	# The load generator is new too: connections that a last load left waiting to end would fill its ports.
	if ! start_service "$service" loadgen; then
		outcome="did not start" detail=$(tail -n1 "$(start_log "$service")")
	else
		attend in_loadgen loadgen/measure prepare "results/$run" "$id" >"$dir/prepare.txt" 2>&1 || status=$?
		read_outcome "$status" "$service" "$dir/prepare.txt"
		ready=$(sed -n 's/^ready //p' "$dir/prepare.txt") warm=$(sed -n 's/^warm //p' "$dir/prepare.txt")
	fi
	if [[ $outcome == measured ]]; then
		keep_counters before "$service" "$dir"
		attend in_loadgen loadgen/measure run "results/$run" "$id" >"$dir/run.txt" 2>&1 || status=$?
		keep_counters after "$service" "$dir"
		read_outcome "$status" "$service" "$dir/run.txt"
		! grep -q '^running false' "$dir/server.after" || outcome=died detail="the container ended under load"
	fi
	loaded=$(date +%s%N)
	[[ $outcome == measured ]] || server_log "$service" >"$dir/server.log" 2>&1 || true
	stop_service "$service"
	json_object schema 1 id "$id" outcome "$outcome" detail "$detail" image_id "${image_id:-null}" begin_ns "$begin" \
		started_ns "${started_ns:-null}" ready_ns "${ready:-null}" warm_ns "${warm:-null}" loaded_ns "$loaded" end_ns "$(date +%s%N)" | save "$dir/meta.json"
}

# keep_counters WHEN SERVICE DIR: of the service, and of what stands beside it.
keep_counters() {
	server_state "$2" | save "$3/server.$1"
	backing_state postgres | save "$3/database.$1"
	backing_state upstream | save "$3/upstream.$1"
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
