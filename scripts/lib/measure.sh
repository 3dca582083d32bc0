# shellcheck shell=bash
# The measuring loop: Python decides each step and records what came of it (`python3 -m bench next`), bash starts, loads and
# stops. Only declares. The entry script sources the engine, which says where the containers come from: containers.sh
# (Docker) or composed.sh (`docker-compose up` has started them). The loop calls these functions of it:
#
#   start_service NAME [loadgen]    sets server_pid, image_id, started_ns; fails where it does not start
#   start_block NAME...             sets block_pid and block_up, and writes RUN/containers.tsv; fails where none starts
#   pin_block NAME...               once they answer
#   open_freezer, close_freezer     around the load: it may ask for services to be frozen (freeze.sh)
#   look_at_block NAME...           sets block_ended, those whose container does not run any more
#   save_block_states WHEN FOLDER NAME...    what server_state says of each, in FOLDER/NAME.WHEN
#   stop_service NAME, stop_block NAME...
#   is_running NAME                 whether its container still runs
#   server_log NAME                 its last lines, to standard output
#   server_state NAME, dependency_state NAME, service_limits NAME    `key value` lines, to standard output
#   save_provenance NAME, save_idle NAME                                   files under raw/services/NAME
#   revive_dependencies             starts again what services need and has ended
#   note_ended                      adds to `facts` what of it has ended during the step
#   start_log NAME                  the file with what was said when it was started
#   in_loadgen COMMAND...           a command in the load generator's container
#   bench VERB...                   Python, where the run's folder is results/RUN

# shellcheck source=scripts/lib/block.sh
source "${BASH_SOURCE[0]%/*}/block.sh"
# shellcheck source=scripts/lib/progress.sh
source "${BASH_SOURCE[0]%/*}/progress.sh"
# shellcheck source=scripts/lib/room.sh
source "${BASH_SOURCE[0]%/*}/room.sh"
# shellcheck source=scripts/lib/solo.sh
source "${BASH_SOURCE[0]%/*}/solo.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# measure_all [SECONDS]: every step that is not measured yet, until the script has run for so many seconds.
measure_all() {
	local first=(--begin) begin options=() status text elapsed killed=0
	[[ ! ${1:-} ]] || first+=(--max-time "$1")
	((lanes == 1)) || first+=(--lanes "$lanes")
	begin=("${first[@]}")
	while :; do
		progress_options
		read_elapsed
		status=0
		text=$(bench next "$run" --elapsed "$elapsed" "${begin[@]}" "${options[@]}" 2>&1) || status=$?
		begin=()
		case $status in
		0) show_progress "$text" ;;
		3 | 4) break ;;
		*)
			if is_running loadgen || ((++killed > 3)); then fail 1 "the next step cannot be decided: ${text##*$'\n'}"; fi
			# Killed with the load generator: what it has not recorded, it finds in the raw files.
			begin=("${first[@]}")
			continue
			;;
		esac
		if ((lanes == 1)); then measure_step; else measure_wave; fi
	done
	if ((status == 4)); then
		time_is_up "$text"
	else
		show_progress "$text"
		end_line
	fi
	((lanes == 1)) || say_speed_up
}

# time_is_up TEXT: progress, and in the last line how to go on.
# shellcheck disable=SC2034 # profiles.sh uses timed_out
time_is_up() {
	[[ $1 != *$'\n'* ]] || show_progress "${1%$'\n'*}"
	warn "${1##*$'\n'}"
	timed_out=yes
}

# measure_step: what step.sh describes; finished.env, by which Python records it, comes last.
measure_step() {
	need_room 1
	# shellcheck source=/dev/null
	source "$run_dir/${lane}step.sh"
	mkdir -p "$run_dir/$STEP_DIR"
	[[ ! $several ]] || why_failed=need_nodes
	revive_dependencies
	[[ ! $several ]] || need_readers
	facts=("id=$STEP_ID" "begin_ns=$(now_ns)")
	if [[ $STEP_MODE == turns ]]; then measure_block; else measure_solo; fi
	note_ended
	facts+=("end_ns=$(now_ns)")
	if [[ $several ]]; then
		need_nodes
		facts+=("node=${node_of[server]}")
		why_failed=engine_is_gone
	fi
	printf '%s\n' "${facts[@]}" | save "$run_dir/${lane}finished.env"
}

now_ns() { printf '%s000' "${EPOCHREALTIME/[.,]/}"; }
