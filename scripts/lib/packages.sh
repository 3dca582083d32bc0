# shellcheck shell=bash
# What --package was given, built to wheels before the run is planned. Only declares; needs compose.sh.

# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/own_app.sh
source "${BASH_SOURCE[0]%/*}/own_app.sh"
# shellcheck source=scripts/lib/package_sources.sh
source "${BASH_SOURCE[0]%/*}/package_sources.sh"

# The values of --package, in order.
packages=()

# package_option WORD...: takes --package from the front of the command line, which keeps it: it is in the run's command.
package_option() {
	case $1 in
	--package)
		[[ ${2:-} ]] || fail 2 "--package needs a value; see --help"
		packages+=("$2")
		;;
	--package=*) packages+=("${1#*=}") ;;
	esac
}

# prepare_packages SELECTION...: the wheels, in `packages_folder`, for each Python; adds them to `selection`.
prepare_packages() {
	local pythons label python labels=() number
	pythons=$(in_tools python3 -m bench package-pythons "$@")
	# What a killed call has left.
	find "$root/results" -maxdepth 1 -name '.packages-*' -mmin +1440 -exec rm -rf {} +
	packages_folder=$(mktemp -d -p "$root/results" .packages-XXXXXX)
	trap 'end_jobs 2; rm -rf "$packages_folder"' EXIT
	trap 'exit 130' INT TERM HUP
	mkdir "$packages_folder/items" "$packages_folder/out"
	for number in "${!packages[@]}"; do package_item "$packages_folder/items/$number" "${packages[number]}"; done
	while read -r label python; do
		build_wheels "$label" "$python"
		labels+=("$label")
	done <<<"$pythons"
	number=results/${packages_folder##*/}
	in_tools python3 -m bench packages "$number/items" "$number/out" "${labels[@]}"
	selection+=("--packages-in=$number/out")
}
packages_folder=''

# build_wheels LABEL PYTHON: in a container of the Python's base image. The packages that a server needs to be built are there, too.
build_wheels() {
	local prefix log=$packages_folder/build.log tools words
	prefix=$(own_prefix "$2")
	get_base "$prefix:${2#pypy}-slim" &
	wait $! || fail 2 "Python $2 has no base image here: leave it out of --python"
	say "getting wheels of ${packages[*]} for Python $2"
	tools=$(sed -n 's/.*debian = { build = \[\([^]]*\)\].*/\1/p' "$root/services/matrix.toml" | tr -d '",' | tr '\n' ' ')
	attend "$docker" buildx build --file "$root/services/package.Dockerfile" --build-arg "PYTHON_IMAGE=$prefix" \
		--build-arg "PYTHON=${2#pypy}" --build-arg "BUILD_PACKAGES=$tools" --build-arg "ASKED_AT=$EPOCHREALTIME" \
		--output "type=local,dest=$packages_folder/out/$1" --progress plain "$packages_folder/items" >"$log" 2>&1 || {
		words=$(resolver_words "$log")
		fail 2 "--package: the wheels cannot be built: ${words:-$(tail -n1 "$log")}"
	}
}

# drop_packages: they are in the run's folder.
drop_packages() {
	[[ $packages_folder ]] || return 0
	rm -rf "$packages_folder"
	trap - EXIT
}
