# shellcheck shell=bash
# Base images: pulled where a registry answers, else made here from Debian. Only declares.

# shellcheck source=scripts/lib/mmdebstrap.sh
source "${BASH_SOURCE[0]%/*}/mmdebstrap.sh"
# shellcheck source=scripts/lib/base_lock.sh
source "${BASH_SOURCE[0]%/*}/base_lock.sh"

# Whether this machine makes its own bases: scripts/setup.sh found no registry.
local_bases() { grep -q '^LOCAL_PYPY_IMAGE=' "$local_file" 2>/dev/null; }

# The default of services/matrix.toml, which an error there must not take away; a test compares them.
setup_python=3.13

# What resolves and pins requirements.
# shellcheck disable=SC2034 # lock.sh and own_lock.sh use it
uv=uv==0.13.8

# What knows the vulnerabilities of pins.
# shellcheck disable=SC2034 # lock.sh uses it
pip_audit=pip-audit==2.10.1

# setup_bases: names of the images that everything needs: Debian, and the default Python. Those of other
# Pythons are had when a run asks for them.
setup_bases() {
	local debian python
	if local_bases; then
		debian=bench-debian:trixie-slim python=bench-python
	else
		debian=$(setting DEBIAN_IMAGE) || return
		python=$(setting PYTHON_IMAGE) || return
	fi
	printf '%s\n' "$debian" "$python:$setup_python-slim"
}

have_bases() {
	local list names
	list=$(setup_bases) || return
	mapfile -t names <<<"$list"
	"$docker" image inspect "${names[@]}" >/dev/null 2>&1
}

pull() { "$docker" image inspect "$1" >/dev/null 2>&1 || pull_base "$1"; }

# get_bases: those that everything needs, by pull or, where no registry answers, by mmdebstrap.
get_bases() {
	local name names list debian
	say "getting base images"
	debian=$(setting DEBIAN_IMAGE)
	local_bases || pull "$debian" || choose_local_bases
	! local_bases || need_mmdebstrap
	list=$(setup_bases)
	mapfile -t names <<<"$list"
	for name in "${names[@]}"; do get_base "$name" & done
	for name in "${names[@]}"; do wait -n || fail 1 "a base image cannot be had; the lines above say why"; done
	name_other_bases "${names[@]}"
}

# get_base NAME: the image, from here, the registry or Debian; false, with a line that says why, where it cannot be had.
get_base() {
	"$docker" image inspect "$1" >/dev/null 2>&1 && return
	if local_bases; then
		make_listed_base "$1"
	elif ! pull "$1"; then
		warn "base image $1 cannot be pulled: its cells are skipped"
		return 1
	fi
}

# missing_bases NAME...: gets them all at once; prints those that cannot be had, and remembers what the registry lacks.
missing_bases() {
	local name missing=() pids=() index known
	name_other_bases "$@"
	"$docker" image inspect "$@" >/dev/null 2>&1 && return
	! local_bases || need_mmdebstrap
	for name; do
		get_base "$name" >&2 &
		pids+=($!)
	done
	for index in "${!pids[@]}"; do
		wait "${pids[index]}" || missing+=("${@:index+1:1}")
	done
	((${#missing[@]})) || return 0
	printf '%s\n' "${missing[@]}"
	! local_bases || return 0
	known=$(sed -n 's/^MISSING_BASES=\(.*\)/\1 /p' "$local_file" 2>/dev/null) || true
	printf '%s\n' '# Written by scripts: base images that the registry did not have.' \
		'# Delete this file to have them tried again.' "MISSING_BASES=$known${missing[*]}" | save "$local_file"
}
