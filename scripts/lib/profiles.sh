# shellcheck shell=bash
# Where the CPU time of a run's services goes (--profile): after the tables, each is loaded once more, alone, and its stacks
# are sampled meanwhile. Nothing of that is judged, and what cannot be sampled is said in a line. Only declares; needs
# containers.sh and measure.sh.

# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/sampler.sh
source "${BASH_SOURCE[0]%/*}/sampler.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# For so many seconds of a load; bench/plan/profile.py says how long that is.
sample_seconds=5

# profile_tables [SECONDS]: every window that is not made yet, until the script has run for so many seconds.
# shellcheck disable=SC2034 # solo.sh uses sampling
profile_tables() {
	local begin=(--begin) status text elapsed
	[[ ${PROFILE_TABLES:-} && ! $timed_out ]] || return 0
	sampling=yes
	while :; do
		read_elapsed
		if [[ ${1:-} ]] && ((elapsed >= ${1%.*})); then
			warn "the time is up (--max-time): not all services are profiled; --resume $run goes on"
			break
		fi
		status=0
		text=$(bench profile-next "$run" "${begin[@]}" 2>&1) || status=$?
		begin=()
		((status == 0 || status == 3)) || fail 1 "the next profile cannot be decided: ${text##*$'\n'}"
		[[ ! $text ]] || say "$text"
		((status == 0)) || break
		measure_step
		say_unsampled
	done
	sampling=''
}

# say_unsampled: what kept the service of this step from being sampled.
say_unsampled() {
	local words file files=(sampler.txt) dir=$run_dir/$STEP_DIR
	[[ " ${facts[*]}" != *_status=[1-9]* ]] || files=(run.txt prepare.txt)
	[[ ! -s $dir/stacks.txt || ${files[0]} != sampler.txt ]] || return 0
	words='its load failed'
	for file in "${files[@]}"; do
		[[ ! -s $dir/$file ]] || { words=$(tail -n1 "$dir/$file" | tr -cd '[:print:]' | cut -c1-300) && break; }
	done
	warn "${STEP_SERVICES[0]} is not sampled: $words"
}

# start_sampling NAME FOLDER: in the background of its load, which is under way; `sampler` is its job.
start_sampling() {
	in_background sample_under_load "$1" "$2"
	sampler=$child
}

# end_sampling: with the load. What failed in it is in the folder.
end_sampling() {
	"$docker" rm --force "$project-sampler" >/dev/null 2>&1 || true
	wait "$sampler" || true
	sampler=''
}
sampler=''

sample_under_load() {
	# A process that waits for a CPU looks like one that runs: what else this machine does has to wait meanwhile.
	"$docker" update --cpu-shares 262144 "$project-$1-1" >/dev/null
	sleep 1 # its tool connects first
	sample_container "$project-$1-1" "$project-sampler" "$sample_seconds" "$2/stacks.txt" 2>"$2/sampler.txt"
}
