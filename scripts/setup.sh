#!/usr/bin/env bash
#
# Usage: scripts/setup.sh [--setup]
#
# Prepares this machine: finds Docker and Python, gets the base images and builds the images that every run needs.
# Quiet and quick when there is nothing to do. Base images of other Pythons than the default one are fetched when
# scripts/matrix.sh or scripts/verify.sh needs them.
#
#   --setup   on Debian and its derivatives, as root: install Docker and Python and start the daemon if necessary
#
# If no image registry answers, Debian base images are built here (mmdebstrap), under names of their own.
set -Eeuo pipefail
# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/lib/bases.sh"
trap_errors

case ${1:-} in
'') may_install='' ;;
--setup) may_install=1 ;;
-h | --help) usage && exit ;;
*) fail_unknown "$1" ;;
esac

if [[ $may_install ]]; then
	have_python || install_python
	find_docker || install_engine
	find_docker || fail 1 "Docker was installed, but its Compose or buildx is missing or too old"
	engine_answers || start_engine
fi
need_engine
[[ $BENCH_ENGINE_KIND == docker ]] || in_driver harness lacks
have_bases || get_bases
in_driver harness build || exit
