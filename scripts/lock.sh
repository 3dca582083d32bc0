#!/usr/bin/env bash
#
# Usage: scripts/lock.sh [--check] [--upgrade] [NAME...]
#        scripts/lock.sh --audit [NAME...]
#        scripts/lock.sh --bases
#
# Pins, with hashes, what every server, framework and driver set needs on every Python of the matrix, and
# what bench/ and tests/ need: from requirements.txt files to services/locks/, and from requirements.in to
# requirements.txt. Pins that still hold are kept.
#
#   NAME       only these servers and frameworks
#   --upgrade  take the newest versions instead
#   --check    write nothing; fail if a lock is not what its requirements ask for
#   --audit    write nothing; print which pins have known vulnerabilities, as pip-audit has them from PyPI. Status 1 if
#              any has, 3 if that service is not reached or does not know all of them
#   --bases    writes the digests of the base images, as their registry gives them now, to services/locks/bases.tsv. From then on a
#              base that is not on this machine is pulled by its digest. Status 3 if the registry does not give all of them
#
# But for --bases it runs in a container of a Python base image, and needs a package index.
set -Eeuo pipefail
# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/lib/bases.sh"
trap_errors

verb=lock tool=$uv arguments=()
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

# The files that it writes belong to whoever runs this.
# shellcheck disable=SC2016 # the container's shell expands it
"$docker" run --rm --init "${confined[@]}" --tmpfs /tmp:exec --user "$(id -u):$(id -g)" --env HOME=/tmp --env PYTHONPATH=/bench \
	--volume "$root:/bench" --workdir /bench/services "$image" bash -euc 'python3 -m venv /tmp/venv
	/tmp/venv/bin/pip install --quiet --disable-pip-version-check "$0"
	PATH=/tmp/venv/bin:$PATH exec python -m bench "$@"' "$tool" "$verb" "${arguments[@]}" || exit $?
