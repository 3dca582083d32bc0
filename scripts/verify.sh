#!/usr/bin/env bash
#
# Usage: scripts/verify.sh [--quiet] [--jobs N] SERVICE...
#        scripts/verify.sh [--jobs N] --all
#
# Checks services against the HTTP contract, every route that each offers, and prints each check with
# ok or not ok, then a table of what fails. results/RUN/junit.xml holds the checks too. A service is
# named as in services/compose.yml; globs work ('*-flask-py313-debian'). Exit status 1 when one fails.
#
#   --all      every service whose base image is here; implies --quiet
#   --quiet    print only what fails
#   --jobs N   services at a time (two on each core, fewer where memory is short)
set -Eeuo pipefail
# shellcheck source=scripts/lib/run.sh
source "${BASH_SOURCE[0]%/*}/lib/run.sh"

jobs='' names=() quiet=()
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--jobs) jobs=${2:-} && shift ;;
	--all) names+=('*') quiet=(--quiet) ;;
	--quiet) quiet=(--quiet) ;;
	*) names+=("$1") ;;
	esac
	shift || fail 2 "--jobs needs a number"
done
[[ -z $jobs || $jobs =~ ^[1-9][0-9]?$ ]] || fail 2 "--jobs '$jobs' is no number from 1 to 99"
((${#names[@]})) || fail 2 "which services? see --help"

# Nothing is measured here, so that no figure wants to know what its image was made of.
keep_facts() { :; }
keep_idle() { :; }
server_limits() { :; }

# One more check: each service ends as whoever runs it would end it.
stop_service() {
	if [[ ! -e $run_dir/raw/services/$1/verify.json ]]; then
		remove_service "$1"
	elif ! stop_under_load "$1" && [[ $once_more ]] && grep -q '"exit_status": 137' "$run_dir/raw/services/$1/stop.json"; then
		set_aside "$1"
	fi
}

"$root/scripts/setup.sh"
find_docker
run=$(plan_verb contract "${names[@]}")

verify_all() {
	build_services
	start_backing
	verify_services "${jobs:-$(jobs_at_a_time)}"
	report summary "$run" "${quiet[@]}"
}

open_run "$run"
in_run verify_all
