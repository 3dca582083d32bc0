# shellcheck shell=bash
# Images straight from this machine's engine to another one. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"

# What two engines have to agree in for it to be one image.
same_image='{{json .RootFS.Layers}} {{json .Config.Env}} {{json .Config.Cmd}} {{json .Config.Entrypoint}} {{.Config.User}} {{.Config.WorkingDir}}'

# has_image CONTEXT IMAGE REFERENCE: whether what this engine has as REFERENCE is the IMAGE that is here.
has_image() {
	local here there
	here=$("$docker" image inspect --format "$same_image" "$2") || return
	there=$(on "$1" image inspect --format "$same_image" "$3" 2>/dev/null) || return
	[[ $here == "$there" ]]
}

# copy_to_nodes NODES IMAGE...: to all of them side by side.
copy_to_nodes() {
	local context
	while read -r _ context _; do spawn 8 copy_image "$context" "${@:2}"; done <<<"$1"
	await_spawned
}

# copy_image CONTEXT IMAGE...: those that the engine lacks, in one stream from here.
copy_image() {
	local image lacks=()
	for image in "${@:2}"; do
		has_image "$1" "$image" "$image" || lacks+=("$image")
	done
	((${#lacks[@]})) || return 0
	"$docker" save "${lacks[@]}" | on "$1" load --quiet >/dev/null
	for image in "${lacks[@]}"; do
		has_image "$1" "$image" "$image" || fail 1 "context $1 gets another $image than the one that is here"
	done
}
