# shellcheck shell=bash
# Base images: pulled where a registry answers, else made here from Debian. Only declares.

# shellcheck source=scripts/lib/mmdebstrap.sh
source "${BASH_SOURCE[0]%/*}/mmdebstrap.sh"

# wanted_bases: the names of all base images, as this machine names them.
wanted_bases() {
	local python tag suite
	[[ -f $local_file ]] && echo bench-debian:trixie-slim || knob DEBIAN_IMAGE && echo
	while read -r python tag suite; do
		if [[ ! -f $local_file ]]; then
			echo "$(knob PYTHON_IMAGE):$python-$tag"
		elif [[ $suite != - ]]; then
			echo "bench-python:$python-$tag"
		fi
	done < <(bases_list)
}

have_bases() {
	local names
	mapfile -t names < <(wanted_bases | grep .)
	"$docker" image inspect "${names[@]}" >/dev/null 2>&1
}

# get_bases: all of them, by pull or by mmdebstrap; what cannot be had is said, its cells are skipped.
get_bases() {
	local name
	if [[ ! -f $local_file ]]; then
		say "pulling base images"
		if timeout 120 "$docker" pull -q "$(knob DEBIAN_IMAGE)" >/dev/null 2>&1; then
			while read -r name; do
				"$docker" image inspect "$name" >/dev/null 2>&1 || timeout 300 "$docker" pull -q "$name" >/dev/null 2>&1 ||
					say "base image $name cannot be pulled: its cells will be skipped"
			done < <(wanted_bases | grep .)
			return
		fi
	fi
	make_bases
}
