# shellcheck shell=bash
# A run from its folder to its last container: open, close. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# open_run NAME: from here on, functions work on this run, and its own settings hold.
open_run() {
	local key value sum own_services=()
	run=$1 run_dir=$root/results/$1
	# Another clone's run may have begun in the same second, and have the same name.
	sum=$(cksum <<<"$run_dir")
	project=bench-$1-${sum%% *}
	while IFS='=' read -r key value; do export "$key=$value"; done <"$run_dir/knobs.env"
	BENCH_USER=$(id -u):$(id -g)
	export BENCH_USER
	# shellcheck source=/dev/null
	source "$run_dir/services.sh"
	# shellcheck disable=SC2034 # engine.sh's own_docker uses it
	own_unset=("${OWN_VARIABLES[@]/#/--unset=}")
	# shellcheck disable=SC2034 # containers.sh uses it
	[[ ! $OWN_ENV_FILE ]] || own_values=(--env-file "$OWN_ENV_FILE")
	[[ ! -s $run_dir/compose.yml ]] || return 0
	[[ ! -s $run_dir/app/services.json ]] || own_services=(--file "$run_dir/app/services.json")
	compose --project-name "$project" --file "$run_dir/services.yml" "${own_services[@]}" --profile '*' \
		config "${DEPENDENCIES[@]}" null "${SERVICES[@]}" "${BUILD_OF[@]}" | save "$run_dir/compose.yml"
}

# in_run COMMAND...: what a run does, in a process of its own, for this one to wait: bash loses an interrupt that comes in
# the instant in which a command in the foreground ends, and none while it waits for a job. Ends with its status.
in_run() {
	trap close_run EXIT
	trap 'exit 130' INT TERM
	in_background worker "$@"
	wait "$child" || exit
}

worker() {
	trap 'end_line; end_jobs 1' EXIT
	trap 'exit 130' INT TERM
	trap_errors
	failure_note="what is measured is kept in results/$run; scripts/matrix.sh --resume $run goes on"
	"$@"
}

# close_run: no container and no network of this run is left, and nothing that would take their end for a failure.
close_run() {
	end_jobs 2
	[[ -z ${project:-} || ! -s $run_dir/compose.yml ]] ||
		{ stop_host_loadgen && run_compose --profile '*' down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1; } || true
}
