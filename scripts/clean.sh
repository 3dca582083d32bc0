#!/usr/bin/env bash
#
# Usage: scripts/clean.sh [--yes] [--keep-images | --images-older-than DAYS] [--all] [--build-cache]
#
# Lists what this project has left on this machine, with sizes; with --yes, removes it:
#
#   - containers, networks and volumes of runs that have ended
#   - images that a newer build has replaced, and images of services (a run builds them again)
#   - temporary folders of killed scripts, and unpacked copies of published runs (results/.published)
#
# Objects are recognized by the project's labels, images by name and label. Never removed: results, images that an
# interrupted run of this clone needs to resume, and anything without the project's labels. With --yes, exits with
# status 2 while a run is in progress.
#
#   --yes                        remove it
#   --keep-images                keep images of services, except those that a newer build has replaced
#   --images-older-than DAYS     keep images of services that were built in the last DAYS days
#   --all                        remove base images and the harness's images too: the next run pulls and builds them again
#   --build-cache                empty the engine's build cache too. It has no labels, so this affects every user of the
#                                engine. As long as it exists, it keeps the layers of removed images on disk
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

[[ " $* " != *' -h '* && " $* " != *' --help '* ]] || { usage && exit; }
need_engine
cd "$root"
exec python3 -m driver clean "$@"
