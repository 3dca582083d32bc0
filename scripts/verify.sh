#!/usr/bin/env bash
#
# Usage: scripts/verify.sh [--quiet] [--jobs N] SERVICE...
#        scripts/verify.sh [--jobs N] --all
#
# Checks every route of the given services against the HTTP contract. Prints each check as ok or not ok, then a table
# of failures; results/RUN/junit.xml has the checks too. SERVICE is a name that scripts/matrix.sh --list services
# prints, or a glob ('*-flask-py313-debian'). Exit status 1 if a check fails.
#
#   --all      every service (more than 2,000) whose base image is here or can be pulled or built; implies --quiet
#   --quiet    print only failures
#   --jobs N   services to check at the same time (default: two per core, fewer if memory is short)
#
# BENCH_DEBUG=1 traces every command.
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

options=() names=() held=''
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--held) held=${2:-} && shift ;; # this script again, called below for the planned run
	--jobs)
		[[ ${2:-} ]] || fail 2 "--jobs needs a number"
		[[ $2 =~ ^[1-9][0-9]?$ ]] || fail 2 "--jobs '$2' is not a number from 1 to 99"
		options+=(--jobs "$2")
		shift
		;;
	--all) names+=('*') options+=(--quiet) ;;
	--quiet) options+=(--quiet) ;;
	-*) fail_unknown "$1" ;;
	*) names+=("$1") ;;
	esac
	shift
done
cd "$root"

if [[ $held ]]; then
	python3 -m driver build "$held" || exit
	python3 -m driver begin "$held" || exit
	exec python3 -m driver verify "$held" --contract "${options[@]}"
fi

((${#names[@]})) || fail 2 "which services? see --help"
"$root/scripts/setup.sh"
act contract "${names[@]}" -- scripts/verify.sh "${options[@]}" --held
