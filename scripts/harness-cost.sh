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

builds='' own_app='' quick=''
case ${1:-} in
'') ;;
--load)
	load_share "${2:-}"
	exit
	;;
--long)
	long_run "${@:2}"
	exit
	;;
--network)
	need_tools
	cd "$root"
	work=$(mktemp -d -p results .cost-XXXXXX)
	trap 'rm -rf "$work"' EXIT
	between=$(python3 -m tests.cost.networks "$work")
	said=$(in_tools python3 -m tests.cost network "$work")
	echo "$said"
	# Later runs include this in their reports.
	{ date -u "+%F, from $between" && echo "$said"; } | save "$root/results/network-cost.txt"
	exit
	;;
--builds) builds=${2:-*-py313-debian} ;;
--own-app) own_app=yes ;;
--quick) quick=yes ;;
-h | --help) usage && exit ;;
*) fail_unknown "$1" ;;
esac

"$root/scripts/setup.sh"
find_docker
work=$(mktemp -d -p "$root/results" .cost-XXXXXX)
trap clean_up EXIT
if [[ $own_app ]]; then
	measure_own_app
	mapfile -t spans <"$work/spans"
	in_tools python3 -m tests.cost own "$(<"$work/run")" "${spans[@]}" || exit $?
	exit
fi

if [[ $quick ]]; then
	measure_quick
	in_tools python3 -m tests.cost quick "$(<"$work/run")" "$(<"$work/spans")" || exit $?
	exit
fi

copy_services
if [[ $builds ]]; then
	build_cold "$builds"
	in_tools python3 -m tests.cost builds "results/${work##*/}/builds" "results/${work##*/}/histories" || exit $?
	exit
fi

start_sampling "$work/samples"
measure_a_run
stop_sampling
prepare_rebuild
interval setup "$root/scripts/setup.sh"
interval rebuild rebuild
measure_the_page
mapfile -t spans <"$work/spans"
in_tools python3 -m tests.cost run "$(<"$work/run")" "results/${work##*/}/samples" "${spans[@]}" || exit $?
