#!/usr/bin/env bash
#
# Usage: scripts/verify.sh [--quiet] [--jobs N] SERVICE...
#        scripts/verify.sh [--jobs N] --all
#
# Checks services against the HTTP contract, every route that each offers, and prints each check with
# ok or not ok, then a table of what fails. results/RUN/junit.xml holds the checks too. A service is
# named as scripts/matrix.sh --list services prints it; globs work ('*-flask-py313-debian'). Exit status 1 when one fails.
#
#   --all      every service whose base image is here; implies --quiet
#   --quiet    print only what fails
#   --jobs N   services at a time (two on each core, fewer where memory is short)
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
	--held) held=${2:-} && shift ;; # what is done with the run that is planned below
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
