#!/usr/bin/env bash
#
# Usage: scripts/swarm.sh label NODE [ROLE...] | roles | check [--seconds N] | up [SERVICE...] | send IMAGE... | down
#
# The nodes of a Docker swarm that scripts/matrix.sh --swarm measures on (docs/several-machines.md). Their engines are
# reached through the Docker contexts of this user; which context is whose is found out.
#
#   label NODE [ROLE...]  gives a node its roles: server (alone on its node), loadgen, support (database, upstream,
#                         registry); without ROLE takes them away
#   roles                 prints `ROLE NODE CONTEXT ADDRESS` and what kind of machine it is, of the nodes that can be used
#   check [--seconds N]   prints what is missing, a line for each finding: roles, contexts, images, clocks, ports, speed and
#                         round trip from a load generator to each server over an overlay network, for N (2) seconds each.
#                         Exit status 1 where something stops a run
#   up [SERVICE...]       starts the registry on a node that supports, and on each node what reaches it at 127.0.0.1; and, as
#                         services of the swarm, postgres or upstream (which a run has as containers of its own)
#   send IMAGE...         has the registry hold these local images, and each node with a role pull them by their digests
#   down                  ends registry and network, and removes all that `up` has made
#
# BENCH_REGISTRY in .env names a registry of one's own instead: `send` pushes there, and `up` starts none.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
label | send) [[ ${2:-} ]] || fail 2 "$1 needs what to $1, see --help" ;;
check) [[ $# == 1 || (${2:-} == --seconds && ${3:-} =~ ^[1-9][0-9]?$ && $# == 3) ]] || fail 2 "check takes --seconds N and nothing else" ;;
up) [[ "${*:2}" =~ ^((postgres|upstream)( |$))*$ ]] || fail 2 "up takes postgres and upstream" ;;
roles | down) (($# == 1)) || fail 2 "$1 takes no argument" ;;
*) fail_unknown "${1:-}" ;;
esac

need_tools
cd "$root"
exec python3 -m driver swarm "$@"
