#!/usr/bin/env bash
#
# Usage: scripts/profile.sh SERVICE PATH...
#        scripts/profile.sh --table [OPTION...] SERVER...
#
# Samples a built service with py-spy while wrk requests each path. Prints the CPU time of its first worker, and the
# samples of all of them by the package of the innermost frame; all stacks are saved in results/profiles/
# (collapsed, as flame graph tools read them). What differs between the services of a run: matrix.sh --profile.
#
# --table prints what frameworks cost, as Markdown: CPU time per request of each service of a server, as a share of
# the bare app's on the same server, and what in it needs an explanation. Once under the server: all services of it
# run at once, and each path is requested from one after the other for a second, in every round. And once in process:
# the app is called without its server, in the same container.
#
#   --python X       3.13 if not given
#   --rounds N       3 if not given
#   --paths LIST     with commas; without it, the routes of docs/profiles.md
#   --under-server   only the one table
#   --in-process     only the other
#   --more           adds rounds, or servers, to what the last call measured
set -Eeuo pipefail
# shellcheck source=scripts/profile/cost_table.sh
source "${BASH_SOURCE[0]%/*}/profile/cost_table.sh"
# shellcheck source=scripts/profile/sample_stacks.sh
source "${BASH_SOURCE[0]%/*}/profile/sample_stacks.sh"
trap_errors

python=3.13 rounds=3 more='' service='' servers=() tables=(under_server in_process)
paths=(/json /plaintext /{raw,orm}/{db,queries/20,updates/20,fortunes})
case ${1:-} in
-h | --help) usage && exit ;;
--table)
	shift
	while (($#)); do
		case $1 in
		--python) python=${2:?} && shift ;;
		--rounds) rounds=${2:?} && shift ;;
		--paths) IFS=, read -ra paths <<<"${2:?}" && shift ;;
		--under-server) tables=(under_server) ;;
		--in-process) tables=(in_process) ;;
		--more) more=1 ;;
		-*) fail 2 "unknown argument '$1', see --help" ;;
		*) servers+=("$1") ;;
		esac
		shift
	done
	((${#servers[@]})) || fail 2 "which servers? see --help"
	[[ $rounds =~ ^[1-9][0-9]?$ ]] || fail 2 "--rounds '$rounds' is not a number from 1 to 99"
	;;
*)
	(($# >= 2)) || fail 2 "which service and paths? see --help"
	service=$1 paths=("${@:2}")
	;;
esac
"$root/scripts/setup.sh"
find_docker
trap stop_services EXIT
if [[ $service ]]; then sample; else cost_table; fi
