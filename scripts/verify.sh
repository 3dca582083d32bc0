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
#
# BENCH_DEBUG=1 traces every command.
set -Eeuo pipefail
# shellcheck source=scripts/lib/containers.sh
source "${BASH_SOURCE[0]%/*}/lib/containers.sh"
# shellcheck source=scripts/lib/images.sh
source "${BASH_SOURCE[0]%/*}/lib/images.sh"
# shellcheck source=scripts/lib/run.sh
source "${BASH_SOURCE[0]%/*}/lib/run.sh"
# shellcheck source=scripts/lib/shutdown.sh
source "${BASH_SOURCE[0]%/*}/lib/shutdown.sh"
# shellcheck source=scripts/lib/verify.sh
source "${BASH_SOURCE[0]%/*}/lib/verify.sh"
trap_errors

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
[[ -z $jobs || $jobs =~ ^[1-9][0-9]?$ ]] || fail 2 "--jobs '$jobs' is not a number from 1 to 99"
((${#names[@]})) || fail 2 "which services? see --help"

"$root/scripts/setup.sh"
find_docker
run=$(plan_verb contract "${names[@]}")

verify_all() {
	local status=0
	[[ $jobs ]] || jobs=$(jobs_at_a_time)
	build_services
	start_dependencies
	verify_services "$jobs" --contract
	bench summary "$run" "${quiet[@]}" || status=$?
	((status == 0)) || exit "$status"
}

open_run "$run"
in_run verify_all
