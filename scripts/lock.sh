#!/usr/bin/env bash
#
# Usage: scripts/lock.sh [--check] [--upgrade] [NAME...]
#        scripts/lock.sh --audit [NAME...]
#        scripts/lock.sh --bases
#
# Pins, with hashes, what every server, framework and driver set needs on every Python of the matrix
# (requirements.txt files -> services/locks/), and what bench/ and tests/ need (requirements.in -> requirements.txt).
# Pins that still satisfy the requirements are kept.
#
#   NAME       only these servers and frameworks
#   --upgrade  take the newest versions instead
#   --check    write nothing; fail if a lock does not match its requirements
#   --audit    write nothing; print the pins with known vulnerabilities (pip-audit, data from PyPI). Status 1 if there
#              are any; 3 if PyPI cannot be reached or does not know all pins
#   --bases    write the current digests of the base images, from their registry, to services/locks/bases.tsv. From then
#              on, missing base images are pulled by digest. Status 3 if the registry does not have all of them
#
# Except for --bases, it runs in a container of a Python base image and needs a package index.
set -Eeuo pipefail
# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/lib/bases.sh"
trap_errors

verb=lock tool=$(<"$root/services/uv.txt") arguments=()
for argument; do
	case $argument in
	--audit) verb=audit tool=$pip_audit && continue ;;
	--bases) verb=bases && continue ;;
	--check | --upgrade) ;;
	-h | --help) usage && exit ;;
	-*) fail_unknown "$argument" ;;
	esac
	arguments+=("$argument")
done

need_engine
if [[ $verb == bases ]]; then
	((${#arguments[@]} == 0)) || fail 2 "--bases takes no argument"
	lock_bases
	((${#not_given[@]} == 0)) || exit 3
	exit
fi
images=$(setup_bases)
image=${images##*$'\n'}
"$docker" image inspect "$image" >/dev/null 2>&1 || fail 2 "base image $image is not here: run scripts/setup.sh"

# Runs as the calling user, who then owns the lock files.
# shellcheck disable=SC2016 # the container's shell expands it
"$docker" run --rm --init "${confined[@]}" --tmpfs /tmp:exec --user "$(id -u):$(id -g)" --env HOME=/tmp --env PYTHONPATH=/bench \
	--volume "$root:/bench" --workdir /bench/services "$image" bash -euc 'python3 -m venv /tmp/venv
	msgspec=$(grep -o "^msgspec==[^ ]*" /bench/bench/requirements.txt)
	/tmp/venv/bin/pip install --quiet --disable-pip-version-check "$0" "$msgspec"
	PATH=/tmp/venv/bin:$PATH exec python -m bench "$@"' "$tool" "$verb" "${arguments[@]}" || exit $?
