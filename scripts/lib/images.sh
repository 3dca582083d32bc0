# shellcheck shell=bash
# The images of a run's services: had where the run goes on, else built. Only declares; needs containers.sh.
# shellcheck disable=SC2154 # what run.sh and containers.sh set

# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/bases.sh"

# build_images ARGUMENT...: under one project for all runs, as Compose writes its name into the images: what is the same
# is to have the same id in every run.
build_images() { "$docker" compose --project-name bench --file "$run_dir/compose.yml" build --progress plain "$@"; }

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
