#!/usr/bin/env bash
#
# Usage: scripts/export.sh FORMAT RUN > FILE
#
# Prints the records of a run in another format: csv, parquet or gobench (for benchstat); or the records of its
# events: events-csv or events-parquet. RUN is a folder under results/, by name or path, or the name of a published
# run. Needs only the load generator's image.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "which format? see --help" ;;
esac

need_tools
in_tools python3 -m bench export "$@"
