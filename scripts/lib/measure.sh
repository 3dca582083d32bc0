# shellcheck shell=bash
# One measurement after the other, as `report steps` lists them. Only declares.

# shellcheck source=scripts/lib/run.sh
source "${BASH_SOURCE[0]%/*}/run.sh"

# measure_all: every step that has no complete record yet.
measure_all() {
	local id service dir seconds label steps left=0 done=0 count total=0
	steps=$(in_tools python3 -m report steps "$run")
	count=$(grep -c . <<<"$steps" || true)
	while IFS=$'\t' read -r id service dir seconds label; do ((total += seconds)) || true; done <<<"$steps"
	left=$total began=$SECONDS
	while IFS=$'\t' read -r -u 3 id service dir seconds label; do
		[[ -z $id || -e $run_dir/raw/services/$service/failure.json ]] || measure_one "$id" "$service" "$run_dir/$dir"
		((done += 1, left -= seconds)) || true
		[[ -z $id ]] || progress "$done" "$count" "$left" "$total" "$label: ${outcome:-not run}"
	done 3<<<"$steps"
	[[ ! -t 2 ]] || say
}

# measure_one ID SERVICE DIR: fresh container, first good answer, warm-up, load, down. meta.json comes last.
measure_one() {
	local id=$1 service=$2 dir=$3 begin ready='' warm='' status=0 pid='' image='' detail=''
	begin=$(date +%s%N) outcome=measured
	mkdir -p "$dir"
	if ! start_service "$service"; then
		outcome="did not start" detail=$(tail -n1 "$run_dir/start.log")
	else
		read -r pid image < <("$docker" inspect --format '{{.State.Pid}} {{.Image}}' "$project-$service-1")
		attend in_loadgen loadgen/measure prepare "results/$run" "$id" >"$dir/prepare.txt" 2>&1 || status=$?
		read_outcome "$status" "$service" "$dir/prepare.txt"
		ready=$(sed -n 's/^ready //p' "$dir/prepare.txt") warm=$(sed -n 's/^warm //p' "$dir/prepare.txt")
	fi
	if [[ $outcome == measured ]]; then
		counters "$pid" | save "$dir/server.before"
		attend in_loadgen loadgen/measure run "results/$run" "$id" >"$dir/run.txt" 2>&1 || status=$?
		container_state "$pid" "$service" | save "$dir/server.after"
		read_outcome "$status" "$service" "$dir/run.txt"
	fi
	local loaded
	loaded=$(date +%s%N)
	[[ $outcome == measured ]] || "$docker" logs --tail 50 "$project-$service-1" >"$dir/server.log" 2>&1 || true
	stop_service "$service"
	json_object schema 1 id "$id" outcome "$outcome" detail "$detail" image_id "$image" \
		begin_ns "$begin" ready_ns "${ready:-null}" warm_ns "${warm:-null}" loaded_ns "$loaded" end_ns "$(date +%s%N)" |
		save "$dir/meta.json"
}

# read_outcome STATUS SERVICE FILE: sets `outcome` and `detail` from what measure said in FILE.
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

container_state() {
	counters "$1"
	"$docker" inspect --format 'running {{.State.Running}}
oom_killed {{.State.OOMKilled}}
restarts {{.RestartCount}}' "$project-$2-1"
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
