# shellcheck shell=bash
# A run from its folder to its last container: open, start, close. Only declares.
# Sets: run, run_dir, project, services, backing, base_of, image_of.

# shellcheck source=scripts/lib/containers.sh
source "${BASH_SOURCE[0]%/*}/containers.sh"
# shellcheck source=scripts/lib/images.sh
source "${BASH_SOURCE[0]%/*}/images.sh"

declare -A base_of image_of

# open_run NAME: from here on, functions work on this run, and its own knobs hold.
open_run() {
	local key value name image waits routes base
	run=$1 run_dir=$root/results/$1
	# Another clone's run may have begun in the same second, and have the same name.
	project=bench-$1-$(cksum <<<"$run_dir" | cut -d' ' -f1)
	while IFS='=' read -r key value; do export "$key=$value"; done <"$run_dir/knobs.env"
	BENCH_USER=$(id -u):$(id -g)
	export BENCH_USER
	services=()
	while IFS=$'\t' read -r name image waits routes base; do
		services+=("$name") base_of[$name]=$base image_of[$name]=$image
	done < <(report services "$run")
	backing=(loadgen postgres upstream)
	! grep -q '^  postgres2:' "$run_dir/services.yml" || backing+=(postgres2)
	[[ -s $run_dir/compose.yml ]] || compose --project-name "$project" --file "$run_dir/services.yml" --profile '*' \
		config "${backing[@]}" null "${services[@]}" | save "$run_dir/compose.yml"
}

# in_run COMMAND...: what a run does, in a process of its own, for this one to wait: bash loses an interrupt that comes in
# the instant in which a command in the foreground ends, and none while it waits for a job. Ends with its status.
in_run() {
	trap close_run EXIT
	trap 'exit 130' INT TERM
	attend worker "$@"
}

worker() {
	trap 'end_line; end_jobs 1' EXIT
	trap 'exit 130' INT TERM
	"$@"
}

# close_run: no container and no network of this run is left, and nothing that would take their end for a failure.
close_run() {
	end_jobs 2
	[[ -z ${project:-} || ! -s $run_dir/compose.yml ]] ||
		run_compose --profile '*' down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1 || true
}
