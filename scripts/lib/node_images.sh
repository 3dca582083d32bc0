# shellcheck shell=bash
# How images reach the nodes of a swarm: through its registry or the user's, by digest. Only declares.

# shellcheck source=scripts/lib/copy_images.sh
source "${BASH_SOURCE[0]%/*}/copy_images.sh"
# shellcheck source=scripts/lib/nodes.sh
source "${BASH_SOURCE[0]%/*}/nodes.sh"

registry_port=5000

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
