#!/usr/bin/env bash
#
# Usage: scripts/scaffold.sh server|framework NAME [asgi|wsgi]
#
# Adds a server or a framework: writes its folder, with files that already serve requests. Prints the next
# three steps; CONTRIBUTING.md says what is left to write.
#
#   NAME       lower-case letters, digits and '-'; becomes part of the names of its services
#   asgi|wsgi  the interface that a server hosts or a framework needs (asgi)
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
'') fail 2 "a server or a framework? see --help" ;;
esac

need_tools
tool_options=(--volume "$root/services:/bench/services")
in_tools python3 -m bench scaffold "$@"
