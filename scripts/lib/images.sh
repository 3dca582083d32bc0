# shellcheck shell=bash
# The images of a run's services: had where the run goes on, else built. Only declares; needs containers.sh and verify.sh.

# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/bases.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# build_images ARGUMENT...: under one project for all runs, as Compose writes its name into the images: what is the same
# is to have the same id in every run.
build_images() { "$docker" compose --project-name bench --file "$run_dir/compose.yml" build --progress plain "$@"; }

# build_services: their bases, then sixteen at once, more than which BuildKit has lost track of; where that
# fails, each by itself. Services that differ in settings alone share an image.
build_services() {
	local service base missing had=()
	local -A lacks=() wanted=() there=()
	for service in "${SERVICES[@]}"; do wanted[${BASE_OF[$service]}]=1; done
	missing=$(missing_bases "${!wanted[@]}")
	while read -r base; do [[ ! $base ]] || lacks[$base]=1; done <<<"$missing"
	for service in "${SERVICES[@]}"; do
		base=${BASE_OF[$service]}
		if [[ ${lacks[$base]:-} ]]; then
			service_failed "$service" base "$base"
		elif restore_image "$service"; then
			there[${BUILD_OF[$service]}]=1
		fi
	done
	for service in "${SERVICES[@]}"; do
		[[ ! ${lacks[${BASE_OF[$service]}]:-}${there[${BUILD_OF[$service]}]:-} ]] || continue
		there[${BUILD_OF[$service]}]=1
		had+=("${BUILD_OF[$service]}")
	done
	((${#had[@]} == 0)) || say "building ${#had[@]} services"
	build_batches "${had[@]}"
}

build_batches() {
	local service batch status
	while (($#)); do
		batch=("${@:1:16}") status=0
		shift "${#batch[@]}"
		attend build_images "${batch[@]}" >>"$run_dir/build.log" 2>&1 || status=$?
		((status != 0)) || continue
		for service in "${batch[@]}"; do spawn "$(nproc)" build_service "$service"; done
		await_spawned
	done
}

# restore_image NAME: in a run that goes on, the image that it began with, if that is still here. To build it again may
# give another id from the same files.
restore_image() {
	local id
	id=$(cat "$run_dir/raw/services/$1/image.id" 2>/dev/null) || return
	"$docker" tag "$id" "${IMAGE_OF[$1]}" 2>/dev/null
}

# build_service NAME: of all services with its image.
build_service() {
	local log=$run_dir/raw/services/$1/build.log status=0 service
	mkdir -p "${log%/*}"
	attend build_images "$1" >"$log" 2>&1 || status=$?
	((status != 0)) || return 0
	for service in "${SERVICES[@]}"; do
		[[ ${BUILD_OF[$service]} == "$1" ]] || continue
		[[ $service == "$1" ]] || save "$run_dir/raw/services/$service/build.log" <"$log"
		service_failed "$service" build
	done
}
