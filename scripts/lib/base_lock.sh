# shellcheck shell=bash
# Base images by the digests that their registry gave (scripts/lock.sh --bases). Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

base_lock=$root/services/locks/bases.tsv

# named_bases: the names of all base images, Debian first, by this machine's settings.
named_bases() {
	local debian image tag prefix alpine
	debian=$(setting DEBIAN_IMAGE) || return
	alpine=$(setting ALPINE_PYTHON_IMAGE) || return
	printf '%s\n' "$debian"
	while read -r image tag _; do
		[[ $image != '#'* ]] || continue
		prefix=$(setting "${image^^}_IMAGE") || return
		[[ $tag != *-alpine || ! $alpine ]] || prefix=$alpine
		printf '%s:%s\n' "$prefix" "$tag"
	done <"$root/services/bases.tsv"
}

# lock_bases: asks their registry for the digest of each, and writes those that it gives. What it does not give (`not_given`) keeps
# what it had, and is said.
lock_bases() {
	local names name digest lines=()
	names=$(named_bases)
	while read -r name; do
		[[ $name != *@* ]] || continue
		# A format that begins with {{.Manifest is not kept to, where the name leads to one platform's image.
		digest=$(timeout 60 "$docker" buildx imagetools inspect --format '{{with .Manifest}}{{.Digest}}{{end}}' "$name" 2>/dev/null) || digest=''
		if [[ ! $digest =~ ^sha256:[0-9a-f]{64}$ ]]; then
			not_given+=("$name")
			digest=$(locked_digest "$name")
		fi
		[[ ! $digest ]] || lines+=("$name"$'\t'"$digest")
	done <<<"$names"
	printf '%s\n' '# Written by scripts/lock.sh --bases: the digests by which base images are pulled.' "${lines[@]}" | save "$base_lock"
	for name in "${not_given[@]}"; do warn "no registry gives a digest of $name"; done
}
not_given=()

# locked_digest NAME: empty where none is locked.
locked_digest() {
	local name digest
	[[ -e $base_lock ]] || return 0
	while read -r name digest; do
		[[ $name != "$1" ]] || printf '%s' "$digest"
	done <"$base_lock"
}

# pull_base NAME: by its locked digest, where it has one, and under its name.
pull_base() {
	local digest
	digest=$(locked_digest "$1") || return
	timeout 300 "$docker" pull -q "$1${digest:+@$digest}" >/dev/null 2>&1 || return
	[[ ! $digest ]] || "$docker" tag "$1@$digest" "$1"
}

# name_other_bases NAME...: says which of the images that are here are not those that are locked.
name_other_bases() {
	local name digest had
	for name; do
		digest=$(locked_digest "$name")
		[[ $digest ]] || continue
		had=$("$docker" image inspect --format '{{.RepoDigests}}' "$name" 2>/dev/null) || continue
		[[ $had == *"@$digest"* ]] || warn "base image $name is not the one that services/locks/bases.tsv names: after docker image rm $name that one is pulled"
	done
}
