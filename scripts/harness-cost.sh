#!/usr/bin/env bash
#
# Usage: scripts/harness-cost.sh [--builds [GLOB] | --load [RUN] | --own-app | --quick | --network | --long [COUNT [SELECTION...]]]
#
# Measures what the harness itself costs and prints it next to the goals: the fixed cost of a measurement,
# its own CPU while a service is under load, the time and memory of building a report from 10,000
# measurements, its page in a browser, a rebuild after a change of an app, setup.sh with nothing to do. Exit
# status 1 if a goal is missed. Whatever else Docker does meanwhile is counted too.
#
#   --builds [GLOB]  instead: builds every service that matches ('*-py313-debian') from its base and pip's
#                    downloads alone, and prints time and size per service
#   --load [RUN]     instead: prints how much of the wall time of the run's tables in turns is load; without
#                    RUN it measures a table of eight services for that
#   --own-app        instead: measures the example of one's own app on twelve servers, and prints how long that takes
#                    with the images there, and a rebuild of them after a change of the app
#   --quick          instead: measures the preset quick with its images there, and prints how long that takes
#   --network        instead: loads the null server from one node of a swarm to another, through an overlay network and
#                    the host's, and on one node through a bridge; in turns, 24 rounds of 1 s. Prints requests/s and ratios,
#                    which the reports of later runs on the swarm have too
#   --long [COUNT [SELECTION...]]    instead: measures COUNT (500) times in a row, as briefly as it can (a tenth alone), and prints
#                    what has grown meanwhile beside the results: memory and open files of the scripts, containers,
#                    networks, volumes, images, the engine's disk. Exit status 1 where something has. The samples stay in the
#                    folder of the last run, samples.txt
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
	# Later runs take it into their reports.
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
