# shellcheck shell=bash
# How images reach the nodes of a swarm: through its registry or the user's, by digest. Only declares.

# shellcheck source=scripts/lib/nodes.sh
source "${BASH_SOURCE[0]%/*}/nodes.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"

registry_port=5000

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
	((${#lacks[@]} == 0)) || "$docker" save "${lacks[@]}" | on "$1" load --quiet >/dev/null
}

# send_images IMAGE...: local images, once to the registry and from there to each node, by digest.
send_images() {
	local nodes context
	push_images "$@"
	nodes=$(nodes_with)
	while read -r _ context _; do spawn 8 pull_images "$context"; done <<<"$nodes"
	await_spawned
}

# push_images IMAGE...: their references with digests go into the facts. A node that supports gets them, and its engine pushes
# them to the registry; to a registry of one's own this one does.
push_images() {
	local image name tag context supports prefix pusher=("$docker")
	prefix=$(setting BENCH_REGISTRY)
	if [[ ! $prefix ]]; then
		supports=$(nodes_with support)
		read -r _ context _ <<<"$supports"
		[[ $context ]] || fail 1 "no node that supports can be used: scripts/swarm.sh check"
		prefix=127.0.0.1:$registry_port pusher=("$docker" --context "$context")
		copy_image "$context" "$@"
	fi
	for image; do
		name=${image%%:*}
		tag=$("$docker" image inspect --format '{{.Id}}' "$image")
		tag=$prefix/$name:${tag:7:16}
		"${pusher[@]}" tag "$image" "$tag"
		"${pusher[@]}" push --quiet "$tag" >/dev/null || fail 1 "the registry does not take $image"
		"${pusher[@]}" image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$tag" |
			sed -n "s|^$prefix/$name@|$image &|p" | head -n 1 >>"$facts/digests"
	done
}

# pull_images CONTEXT: what has been pushed, under the names that it has here.
pull_images() {
	local image reference
	while read -r image reference; do
		! has_image "$1" "$image" "$image" || continue
		on "$1" pull --quiet "$reference" >/dev/null || fail 1 "context $1 does not get $image as $reference"
		has_image "$1" "$image" "$reference" || fail 1 "context $1 gets another $image than the one that is here"
		on "$1" tag "$reference" "$image"
	done <"$facts/digests"
}
