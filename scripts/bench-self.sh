#!/usr/bin/env bash
#
# Usage: scripts/bench-self.sh [--builds [GLOB]]
#
# Measures what the harness itself costs, and prints it beside the goals: the fixed cost of a
# measurement, its own CPU while a service is loaded, the time and memory of building a report from
# 10,000 raw files, its page in a browser, a rebuild after a change of an app, setup.sh with nothing to
# do. Exit status 1 when a goal is missed. Anything else that Docker does meanwhile is counted too.
#
#   --builds [GLOB]  instead: builds every service that matches ('*-py313-debian') from nothing but
#                    its base and pip's downloads, for the time and the bytes of each
set -Eeuo pipefail
# shellcheck source=scripts/lib/selfbench.sh
source "${BASH_SOURCE[0]%/*}/lib/selfbench.sh"
trap_errors

builds=''
case ${1:-} in
'') ;;
--builds) builds=${2:-*-py313-debian} ;;
-h | --help) usage && exit ;;
*) fail 2 "unknown argument '$1', see --help" ;;
esac

"$root/scripts/setup.sh"
find_docker
work=$(mktemp -d -p "$root/results" .self-XXXXXX)
trap clean_up EXIT
copy_services

if [[ $builds ]]; then
	build_cold "$builds"
	in_tools python3 -m tests.cost builds "results/${work##*/}/builds" "results/${work##*/}/histories"
	exit
fi

start_sampling
run=$(measure_a_run)
stop_sampling
prepare_rebuild
setup=$(interval setup "$root/scripts/setup.sh")
change=$(interval rebuild rebuild)
spans=("$setup" "$change")
page=$(measure_the_page)
mapfile -t -O "${#spans[@]}" spans <<<"$page"
in_tools python3 -m tests.cost run "results/$run" "results/${work##*/}/samples" "${spans[@]}"
