# shellcheck shell=bash
# Base images: pulled where a registry answers, else made here from Debian. Only declares.

# shellcheck source=scripts/lib/mmdebstrap.sh
source "${BASH_SOURCE[0]%/*}/mmdebstrap.sh"

# Whether this machine makes its own bases: scripts/setup.sh found no registry.
local_bases() { grep -q '^LOCAL_PYTHON_IMAGE=' "$local_file" 2>/dev/null; }

# wanted_bases: the names of all base images, as this machine names them; less those that no registry had.
wanted_bases() {
	local python tag suite missing prefix
	missing=$(sed -n 's/^MISSING_BASES=//p' "$local_file" 2>/dev/null || true)
	if local_bases; then echo bench-debian:trixie-slim; else knob DEBIAN_IMAGE && echo; fi
	while read -r python tag suite; do
		if local_bases; then
			[[ $suite == - ]] || echo "bench-python:$python-$tag"
		else
			prefix=$([[ $tag != alpine ]] || knob ALPINE_PYTHON_IMAGE)
			[[ " $missing " == *" $python-$tag "* ]] || echo "${prefix:-$(knob PYTHON_IMAGE)}:$python-$tag"
		fi
	done < <(bases_list)
}

have_bases() {
	local names
	mapfile -t names < <(wanted_bases)
	"$docker" image inspect "${names[@]}" >/dev/null 2>&1
}

pull() { "$docker" image inspect "$1" >/dev/null 2>&1 || timeout 300 "$docker" pull -q "$1" >/dev/null 2>&1; }

# get_bases: all of them, by pull or by mmdebstrap; what cannot be had is said, its cells are skipped.
get_bases() {
	local name missing=()
	say "getting base images"
	if local_bases || ! pull "$(knob DEBIAN_IMAGE)"; then
		make_bases
		return
	fi
	while read -r name; do
		pull "$name" || { missing+=("${name##*:}") && say "base image $name cannot be pulled: its cells will be skipped"; }
	done < <(wanted_bases)
	((${#missing[@]} == 0)) || printf '%s\n' '# Written by scripts/setup.sh: base images that the registry did not have.' \
		'# Delete this file to have them tried again.' "MISSING_BASES=${missing[*]}" | save "$local_file"
}
