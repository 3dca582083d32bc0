#!/usr/bin/env bash
#
# Usage: tests/swarm/nodes.sh up N [--plain] | add I | down | cut I | start I
#
# Real swarm nodes on one machine (needs root): N Docker daemons (2 to 5) on one bridge, each with its own network, mounts,
# processes and host name. With three or more nodes, three are managers.
#
#   up N      starts nodes 1 to N, joins them to one swarm (--plain: to none), and prints the folder with the Docker
#             contexts bench-node-I
#   add I     starts node I, which joins the swarm of node 1 as a worker
#   down      stops all nodes and removes everything that they have left; also after a failure, or if there are none
#   cut I     node I loses network and power, without a clean shutdown
#   start I   node I comes back with its disk
#
# NODES_HOME (/tmp/bench-nodes)    folder of data, logs and contexts
# NODES_SUBNET (198.18.64)         the nodes' network, a /24: node I has address NODES_SUBNET.I
# NODES_POOL (198.18.128.0/20)     address pool for the swarm's overlay networks
set -Eeuo pipefail
# shellcheck source=tests/swarm/nodes.bash
source "${BASH_SOURCE[0]%/*}/nodes.bash"
trap_errors
find_docker || fail 2 "no Docker with Compose and buildx"

case ${1:-} in
up)
	[[ ${2:-} =~ ^[2-5]$ ]] || fail 2 "up needs a number of nodes from 2 to 5"
	[[ ${3:-} == "" || $3 == --plain ]] || fail 2 "up takes --plain and nothing else"
	nodes_up "$2" "${3:-}"
	echo "$nodes_home/config"
	;;
add)
	[[ ${2:-} =~ ^[2-5]$ && -d $nodes_home && ! -d $nodes_home/$2 ]] || fail 2 "add needs the number of a node that was not started, up to 5"
	node_up "$2"
	node_answers "$2"
	node_join "$2" worker
	;;
down) nodes_down ;;
cut | start)
	[[ ${2:-} =~ ^[1-5]$ && -d $nodes_home/$2 ]] || fail 2 "$1 needs the number of a node that was started"
	"node_$1" "$2"
	;;
-h | --help) usage ;;
*) fail 2 "unknown argument '${1:-}', see --help" ;;
esac
