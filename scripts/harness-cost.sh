#!/usr/bin/env bash
#
# Usage: scripts/harness-cost.sh [--builds [GLOB] | --load [RUN] | --own-app | --quick | --network | --long [COUNT [SELECTION...]]]
#
# Measures the cost of the harness itself and prints it beside the goals: the fixed cost of a measurement, the
# harness's CPU time while a service is under load, time and memory to build a report from 10,000 measurements,
# its page in a browser, a rebuild after an app has changed, and setup.sh with nothing to do. Exit status 1 if a
# goal is missed. Anything else that Docker does meanwhile is counted too.
#
# Each option measures something else instead:
#
#   --builds [GLOB]  builds every service that matches ('*-py313-debian'), using only its base image and pip's
#                    downloads, and prints time and size per service
#   --load [RUN]     prints what share of the wall time of RUN's tables in turns is load; without RUN, measures a
#                    table of eight services first
#   --own-app        measures the example app of docs/own-app.md on twelve servers. Prints how long that takes once
#                    images are built, and how long rebuilding them takes after the app has changed
#   --quick          measures the preset quick once its images are built, and prints how long that takes
#   --network        loads the null server from one swarm node to another through an overlay network and the host's
#                    network, and on one node through a bridge: in turns, 24 rounds of 1 s. Prints requests/s and
#                    ratios; reports of later runs on the swarm include them
#   --long [COUNT [SELECTION...]]    makes COUNT (500) measurements in a row, as short as possible, a tenth of them
#                    in solo mode. Prints what has grown besides the results: memory and open files of the scripts,
#                    containers, networks, volumes, images, the engine's disk. Exit status 1 if anything has. The
#                    samples are in samples.txt in the folder of the last run
set -Eeuo pipefail
# shellcheck source=tests/lib/long_run.sh
source "${BASH_SOURCE[0]%/*}/../tests/lib/long_run.sh"
# shellcheck source=tests/lib/own_app_cost.sh
source "${BASH_SOURCE[0]%/*}/../tests/lib/own_app_cost.sh"
trap_errors

case ${1:-} in
'') mode=whole ;;
--builds | --load | --long | --network | --own-app | --quick) mode=${1#--} ;;
-h | --help) usage && exit ;;
*) fail_unknown "$1" ;;
esac
"cost_${mode//-/_}" "${@:2}"
