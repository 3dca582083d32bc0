#!/usr/bin/env bash
#
# Usage: scripts/site.sh [FOLDER]
#
# Builds a static site of all published runs (results/published/) in FOLDER (default: results/site): a front page with a
# finder of servers and the newest answer to each question, and the page of each run with its raw files, and with its
# measurements and events as Parquet and JSON Lines. It can be opened from disk or served by any static host, and needs
# no network. The first time it judges all runs, which takes minutes. Overwrites files of the same names in FOLDER and
# keeps others. Needs only the load generator's image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
-*) fail_unknown "$1" ;;
esac
(($# < 2)) || fail 2 "give one folder; see --help"
site=${1:-$root/results/site}
[[ $site != *:* ]] || fail 2 "Docker cannot mount a folder with ':' in its path: choose another than $site"

need_tools
mkdir -p "$site" || fail 2 "cannot make $site: choose another folder"
# shellcheck disable=SC2034 # in_tools uses it
tool_options=(--volume "$(cd "$site" && pwd):/site")
in_tools python3 -m bench site /site
say "$site/index.html"
