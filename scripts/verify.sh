#!/usr/bin/env bash
#
# Usage: scripts/verify.sh [--jobs N] SERVICE...
#        scripts/verify.sh [--jobs N] --all
#
# Checks services against the HTTP contract, every route that each offers, and prints each check with
# ok or not ok. A service is named as in services/compose.yml; globs work ('*-flask-py313-debian').
#
#   --jobs N   services at a time (2)
set -Eeuo pipefail
# shellcheck source=scripts/lib/run.sh
source "${BASH_SOURCE[0]%/*}/lib/run.sh"

jobs=2 names=()
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--jobs) jobs=${2:-} && shift ;;
	--all) names+=('*') ;;
	*) names+=("$1") ;;
	esac
	shift || fail 2 "--jobs needs a number"
done
[[ $jobs =~ ^[1-9][0-9]?$ ]] || fail 2 "--jobs '$jobs' is no number from 1 to 99"
((${#names[@]})) || fail 2 "which services? see --help"

"$root/scripts/setup.sh"
find_docker
run=$(plan_verb contract "${names[@]}")
trap close_run EXIT
trap 'exit 130' INT TERM
open_run "$run"
build_services
start_backing
verify_in_parallel "$jobs"
report summary "$run"
