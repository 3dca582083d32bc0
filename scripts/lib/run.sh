# shellcheck shell=bash
# A run from its folder to its last container: open, build, start what all need, close. Only declares.
# Sets: run, run_dir, project, services, base_of, image_of.

# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/bases.sh"
# shellcheck source=scripts/lib/containers.sh
source "${BASH_SOURCE[0]%/*}/containers.sh"

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
	[[ -s $run_dir/compose.yml ]] || compose --project-name "$project" --file "$run_dir/services.yml" --profile '*' \
		config loadgen postgres upstream null "${services[@]}" | save "$run_dir/compose.yml"
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

# build_services: their bases, then sixteen at once, more than which BuildKit has lost track of; where that
# fails, each by itself.
build_services() {
	local i service bases missing batch=() had=()
	mapfile -t bases < <(printf '%s\n' "${base_of[@]}" | sort -u)
	missing=$(missing_bases "${bases[@]}")
	for service in "${services[@]}"; do
		if grep -qxF "${base_of[$service]}" <<<"$missing"; then
			service_failed "$service" "base image not reachable" "${base_of[$service]} cannot be pulled or made here"
		elif ! restore_image "$service"; then
			had+=("$service")
		fi
	done
	((${#had[@]} == 0)) || say "building ${#had[@]} services"
	for ((i = 0; i < ${#had[@]}; i += 16)); do
		batch=("${had[@]:i:16}")
		attend build_images "${batch[@]}" >>"$run_dir/build.log" 2>&1 && continue
		for service in "${batch[@]}"; do spawn "$(nproc)" build_service "$service"; done
		await_spawned
	done
}

# restore_image SERVICE: in a run that goes on, the image that it began with, if that is still here. To build it again may
# give another id from the same files.
restore_image() {
	local id
	id=$(sed -n 's/^ *"Id": "\(sha256:[0-9a-f]*\)",$/\1/p' "$run_dir/raw/services/$1/image.json" 2>/dev/null)
	[[ $id ]] && "$docker" tag "$id" "${image_of[$1]}" 2>/dev/null
}

build_service() {
	local log=$run_dir/raw/services/$1/build.log
	mkdir -p "${log%/*}"
	attend build_images "$1" >"$log" 2>&1 ||
		service_failed "$1" "build failed" "$(build_error "$log" | cut -c1-300)"
}

# build_error LOG: the last words of the step that failed, which BuildKit repeats at the end behind their time; else its own.
build_error() {
	sed -nE 's/^[0-9]+\.[0-9]+ +(.*[^[:space:]].*)/\1/p' "$1" | tail -n1 | grep . || grep -i error "$1" | grep -v '^--' | tail -n1
}
