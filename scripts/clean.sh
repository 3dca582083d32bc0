#!/usr/bin/env bash
#
# Usage: scripts/clean.sh [--yes] [--keep-images | --images-older-than DAYS] [--all] [--build-cache]
#
# Says what this project has left on this machine, with sizes, and removes it with --yes: containers, networks and volumes of
# runs that have ended, images that a newer build has replaced, images of services (a run builds them again), and
# temporary folders of scripts that were killed, and unpacked copies of published runs (results/.published). What is ours is told by
# labels and, of images, by name and label. Never removed: results, images that an interrupted run of this clone goes on with, and
# what has no label of ours. Exit status 2 with --yes while a run is under way.
#
#   --yes                        remove it
#   --keep-images                only those that a newer build has replaced
#   --images-older-than DAYS     of the images of services only those built before that
#   --all                        base images and the harness's own too: the next run gets and builds them again
#   --build-cache                the engine's build cache too. It has no labels: that is everyone's on this engine. While it is
#                                there, it keeps the layers of removed images on the disk
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

asked=("$@")
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--yes | --keep-images | --all | --build-cache) ;;
	--images-older-than)
		[[ ${2:-} =~ ^[0-9]{1,5}$ ]] || fail 2 "--images-older-than takes a number of days"
		shift
		;;
	*) fail_unknown "$1" ;;
	esac
	shift
done

need_engine
cd "$root"
exec python3 -m driver clean "${asked[@]}"
