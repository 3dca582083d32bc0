#!/usr/bin/env bash
#
# Usage: scripts/setup.sh [--setup]
#
# Prepares this machine: finds Docker and Python, gets the base images and builds the images that every run needs.
# Quiet and quick when there is nothing to do. Base images of other Pythons than the default one are fetched when
# scripts/matrix.sh or scripts/verify.sh needs them.
#
#   --setup   on Debian and its derivatives, as root: install Docker and Python and start the daemon if necessary. It says what it
#             installs, and upgrades and removes no package (docs/engines.md has how to undo it). Without it, nothing is installed.
#
# If the image registry cannot be reached, Debian base images are built here (mmdebstrap), under names of their own, until it can.
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

[[ ! $may_install ]] || install_missing
need_engine
[[ $BENCH_ENGINE_KIND == docker ]] || in_driver harness lacks
choose_bases
have_bases || get_bases
in_driver harness build || exit
