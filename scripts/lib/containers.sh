# shellcheck shell=bash
# The containers of one run, as verify.sh and measure.sh ask for them: fresh ones for every measurement. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/measure.sh
source "${BASH_SOURCE[0]%/*}/measure.sh"
# shellcheck source=scripts/lib/backing.sh
source "${BASH_SOURCE[0]%/*}/backing.sh"
# shellcheck source=scripts/lib/facts.sh
source "${BASH_SOURCE[0]%/*}/facts.sh"

project='' server_pid=''

# report VERB...: where the load generator is up, in it: to start a container costs more than most verbs.
report() {
	if [[ $project ]] && is_running loadgen; then in_loadgen python3 -m bench "$@"; else in_tools python3 -m bench "$@"; fi
}

# run_compose ARGUMENT...: Compose on this run's own resolved file, and on no other.
run_compose() { "$docker" compose --project-name "$project" --file "$run_dir/compose.yml" "$@"; }

in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }

# start_service SERVICE [loadgen]: a fresh container of it (and of loadgen). Sets image_id, server_pid, started_ns.
start_service() {
	local started
	run_compose up --detach --no-deps --no-build --force-recreate --timeout 0 "$@" >"$(start_log "$1")" 2>&1 &&
		read -r server_pid image_id started < <("$docker" inspect --format '{{.State.Pid}} {{.Image}} {{.State.StartedAt}}' "$project-$1-1") || return
	started_ns=$(date --date="$started" +%s%N) || started_ns=''
}

start_log() { mkdir -p "$run_dir/raw/services/$1" && printf '%s' "$run_dir/raw/services/$1/start.log"; }

remove_service() { "$docker" rm --force --volumes "$project-$1-1" >/dev/null 2>&1 || true; }

stop_service() { remove_service "$1"; }

# stop_under_load SERVICE: SIGTERM while requests come and one waits, SIGKILL after 2 s; how it went into stop.json. A
# noisy machine has three tries, as it has for the checks that take times. Fails where none was in time.
stop_under_load() {
	local begin status try
	for try in 1 2 3; do
		((try == 1)) || { start_service "$1" && await_answer "$1"; } || break
		# shellcheck disable=SC2016 # expanded in the container
		in_loadgen sh -c 'curl --silent --max-time 3 "$0/?duration=10000" & exec hey -z 2s -c 8 -q 25 -t 2 "$0/json"' \
			"http://$1:8080" >/dev/null 2>&1 &
		sleep 0.5
		begin=$(date +%s%N)
		"$docker" stop --time 2 "$project-$1-1" >/dev/null 2>&1 || true
		status=$("$docker" inspect --format '{{.State.ExitCode}}' "$project-$1-1")
		json_object exit_status "$status" tries "$try" begin_ns "$begin" end_ns "$(date +%s%N)" | save "$run_dir/raw/services/$1/stop.json"
		((status != 0 && status != 128 + 15)) || break
	done
	remove_service "$1"
	((status == 0 || status == 128 + 15))
}

is_running() { [[ $("$docker" inspect --format '{{.State.Running}}' "$project-$1-1" 2>/dev/null) == true ]]; }

server_log() { "$docker" logs --tail 50 "$project-$1-1"; }

# server_state SERVICE [PID]: its counters, and how its container is.
server_state() {
	counters "${2:-$server_pid}"
	"$docker" inspect --format 'running {{.State.Running}}
oom_killed {{.State.OOMKilled}}
restarts {{.RestartCount}}' "$project-$1-1"
}
