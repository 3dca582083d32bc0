#!/usr/bin/env bash
#
# Usage: scripts/lock.sh [--check] [--upgrade] [NAME...]
#
# Pins, with hashes, what every server, framework and driver set needs on every Python of the
# matrix: requirements.txt files in, services/locks/ out. Pins that still hold are kept.
#
#   NAME       only these servers and frameworks
#   --upgrade  take the newest versions instead
#   --check    write nothing; fail when a lock is not what its requirements.txt asks for
#
# Runs in a container of a Python base image, which needs a package index.
set -Eeuo pipefail
# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/lib/bases.sh"
trap_errors

uv=uv==0.13.8

folders=(bench tests)
for argument; do
	case $argument in
	--check | --upgrade) ;;
	-h | --help) usage && exit ;;
	-*) fail 2 "unknown argument '$argument', see --help" ;;
	*) folders=() ;;
	esac
done

need_engine
image=$(setup_bases | tail -n1)
"$docker" image inspect "$image" >/dev/null 2>&1 || fail 2 "base image $image is not here: run scripts/setup.sh"

# The files that it writes belong to whoever runs this.
# shellcheck disable=SC2016 # the container's shell expands it
"$docker" run --rm --init --user "$(id -u):$(id -g)" --env HOME=/tmp --env PYTHONPATH=/bench \
	--env FOLDERS="${folders[*]}" --volume "$root:/bench" --workdir /bench/services \
	"$image" bash -euc 'python3 -m venv /tmp/venv
	/tmp/venv/bin/pip install --quiet --disable-pip-version-check "$1"
	PATH=/tmp/venv/bin:$PATH
	status=0
	python -m bench lock "${@:2}" || status=$?
	for folder in $FOLDERS; do
		lock=/tmp/$folder.txt
		cp "../$folder/requirements.txt" "$lock"
		[[ "${*:2}" != *--upgrade* ]] || rm "$lock"
		uv pip compile --quiet --universal --python-version 3.13 --generate-hashes --no-header --no-annotate \
			--constraint /bench/bench/requirements.txt --output-file "$lock" "../$folder/requirements.in"
		cmp --silent "$lock" "../$folder/requirements.txt" && continue
		if [[ "${*:2}" == *--check* ]]; then
			echo "$folder/requirements.txt: out of step" && status=1
		else
			cp "$lock" "../$folder/requirements.txt" && echo "$folder/requirements.txt: written"
		fi
	done
	exit "$status"' lock "$uv" "$@"
