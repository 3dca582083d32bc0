#!/usr/bin/env bash
#
# Usage: scripts/swarm.sh label NODE [ROLE...] | roles | check [--seconds N] | up [SERVICE...] | send IMAGE... | down
#
# Prepares and checks the nodes of a Docker swarm for scripts/matrix.sh --swarm (docs/several-machines.md). It reaches
# their engines through your Docker contexts, and finds out which context belongs to which node.
#
#   label NODE [ROLE...]  sets the roles of a node: server (excludes other roles), loadgen, support (database, upstream,
#                         registry); without ROLE removes them
#   roles                 prints `ROLE NODE CONTEXT ADDRESS` and the kind of machine for each usable node
#   check [--seconds N]   prints one line per finding: roles, contexts, images, clocks, ports, speed and round trip from a
#                         load generator to each server over an overlay network, for N (2) seconds each. Exit status 1
#                         if something prevents a run
#   up [SERVICE...]       starts the registry on a support node, and on each node a relay to it at 127.0.0.1; also postgres
#                         or upstream, as services of the swarm (a run has its own containers of these)
#   send IMAGE...         pushes these local images to the registry; each node with a role pulls them by digest
#   down                  stops the registry and removes everything that `up` has created
#
# To use your own registry, name it in BENCH_REGISTRY (.env): `send` pushes there, and `up` starts none.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
label | send) [[ ${2:-} ]] || fail 2 "$1 needs an argument; see --help" ;;
check) [[ $# == 1 || (${2:-} == --seconds && ${3:-} =~ ^[1-9][0-9]?$ && $# == 3) ]] || fail 2 "check takes --seconds N and nothing else" ;;
up) [[ "${*:2}" =~ ^((postgres|upstream)( |$))*$ ]] || fail 2 "up takes postgres and upstream" ;;
roles | down) (($# == 1)) || fail 2 "$1 takes no argument" ;;
*) fail_unknown "${1:-}" ;;
esac

need_tools
cd "$root"
exec python3 -m driver swarm "$@"
