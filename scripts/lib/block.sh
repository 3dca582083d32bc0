# shellcheck shell=bash
# One round of a block: up to eight services side by side, loaded in turns. Only declares; measure.sh says what the engine
# has to offer.

# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# measure_block: fresh containers, first good answers, then warm-up and turns of each table, down. Adds to `facts`. Which
# service failed, and how, is in the files of `bench turns`.
measure_block() {
	local dir=$run_dir/$STEP_DIR status=0 service
	mkdir -p "$dir/services"
	start_block "${STEP_SERVICES[@]}" || status=$?
	facts+=("start_status=$status")
	if ((status == 0)); then
		leave_out_lost
		turns_verb ready
		[[ ! $several ]] || note_unreached_of_block
	fi
	if ((status == 0)); then
		pin_block "${block_up[@]}"
		save_block_states before "$dir/services" "${block_up[@]}"
		turns_verb load
		save_block_states after "$dir/services" "${block_up[@]}"
	fi
	look_at_block "${block_up[@]}"
	for service in "${block_ended[@]}"; do server_log "$service" >"$dir/services/$service.log" 2>&1 || true; done
	facts+=("ended=${block_ended[*]}")
	stop_block "${STEP_SERVICES[@]}"
}

# leave_out_lost: a service whose container could not be started is not waited for, and the others are measured.
leave_out_lost() {
	local service
	for service in "${STEP_SERVICES[@]}"; do
		[[ " ${block_up[*]} " != *" $service "* ]] || continue
		cp "$run_dir/raw/services/$service/start.log" "$dir/services/$service.txt"
		echo "$did_not_start" >"$dir/services/$service.status"
	done
}

note_unreached_of_block() {
	local file silent=()
	for file in "$dir"/services/*.status; do
		[[ ! -e $file || $(<"$file") != "$did_not_start" ]] || { file=${file##*/} && silent+=("${file%.status}"); }
	done
	note_unreached "${silent[@]}"
}

# turns_verb VERB: sets `status` of measure_block; what fails as a whole is in its output.
turns_verb() {
	status=0
	[[ $1 != load ]] || open_freezer
	attend in_loadgen env SEED="$SEED" python3 -m bench turns "$1" "results/$run" >"$dir/turns.txt" 2>&1 || status=$?
	[[ $1 != load ]] || close_freezer
	facts+=("turns_$1_status=$status")
}
