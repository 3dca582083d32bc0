# shellcheck shell=bash
# A run from its folder to its last container: open, go on, close. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/guard.sh
source "${BASH_SOURCE[0]%/*}/guard.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/leftovers.sh
source "${BASH_SOURCE[0]%/*}/leftovers.sh"
# shellcheck source=scripts/lib/room.sh
source "${BASH_SOURCE[0]%/*}/room.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/writer.sh
source "${BASH_SOURCE[0]%/*}/writer.sh"

# open_run NAME: from here on, functions work on this run, its own settings hold, and no other script measures it.
open_run() {
	local key value sum own_services=() format=yaml
	run=$1 run_dir=$root/results/$1
	need_room 2
	become_writer
	# Another clone's run may have begun in the same second, and have the same name.
	sum=$(cksum <<<"$run_dir")
	project=bench-$1-${sum%% *}
	while IFS='=' read -r key value; do export "$key=$value"; done <"$run_dir/knobs.env"
	know_engine
	BENCH_USER=$(results_user)
	export BENCH_USER
	# shellcheck source=/dev/null
	source "$run_dir/services.sh"
	# shellcheck disable=SC2034 # engine.sh's own_docker uses it
	own_unset=("${OWN_VARIABLES[@]/#/--unset=}")
	# shellcheck disable=SC2034 # containers.sh uses it
	[[ ! $OWN_ENV_FILE ]] || own_values=(--env-file "$OWN_ENV_FILE")
	open_nodes
	[[ ! -s $run_dir/compose.yml ]] || return 0
	# The load generator for a --target is in the host's network, and reaches the services beside it from there.
	export WITHOUT_HOST=true
	((${#TARGET_OF[@]} == 0)) || WITHOUT_HOST=false
	[[ ! $on_nodes ]] || format=json
	[[ ! -s $run_dir/app/services.json ]] || own_services=(--file "$run_dir/app/services.json")
	compose --project-name "$project" --file "$run_dir/services.yml" "${own_services[@]}" --profile '*' \
		config --format "$format" "${DEPENDENCIES[@]}" null "${SERVICES[@]}" "${BUILD_OF[@]}" | for_engines | save "$run_dir/compose.yml"
}

# for_engines: a Compose file as the engines of the run get it.
for_engines() { if [[ $on_nodes ]]; then in_tools python3 -m bench several-compose "results/$run" "$project"; else cat; fi; }
on_nodes=''

# go_on: takes away what a killed call has left of the run; services that failed and may pass now are tried again.
go_on() {
	local words
	remove_left
	words=$(bench retry "$run")
	[[ ! $words ]] || say "$words"
}

# in_run COMMAND...: what a run does, in a process of its own, for this one to wait: bash loses an interrupt that comes in
# the instant in which a command in the foreground ends, and none while it waits for a job. Ends with its status.
in_run() {
	[[ ! -s $run_dir/plan.jsonl ]] || failure_note="what is measured is kept in results/$run; scripts/matrix.sh --resume $run goes on"
	why_failed=engine_is_gone
	trap close_run EXIT
	trap 'interrupted=1 && exit 130' INT TERM HUP
	start_guard
	in_background worker "$@"
	wait "$child" || exit
}
interrupted=''

worker() {
	trap 'end_line || true; end_jobs 1' EXIT
	trap 'exit 130' INT TERM HUP
	trap_errors
	"$@"
}

# close_run: no process, container or network of this run is left, and nothing that would take their end for a failure.
close_run() {
	trap '' PIPE
	end_jobs 2
	end_writers
	[[ ! $interrupted ]] || warn "interrupted${failure_note:+; $failure_note}" || true
	remove_run
	dismiss_guard
}
