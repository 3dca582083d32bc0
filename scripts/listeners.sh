#!/usr/bin/env bash
#
# Usage: scripts/listeners.sh [--check] [SERVER...]
#
# Starts each server as its own documentation does, in its image but without the matrix's start files, and
# writes its socket options, as reported by the kernel, into services/listeners.toml (`own`).
# scripts/verify.sh compares services with them.
#
#   --check    write nothing; fail if the table is out of date
#   SERVER     only these servers
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

check=() servers=() held=''
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--held) held=${2:-} && shift ;; # this script again, called below for the planned run
	--check) check=(--check) ;;
	-*) fail_unknown "$1" ;;
	*) servers+=("$1") ;;
	esac
	shift
done
cd "$root"

if [[ $held ]]; then
	python3 -m driver build "$held" || exit
	python3 -m driver sockets "$held" "${servers[@]}" || exit
	if ((${#check[@]})); then
		diff -u services/listeners.toml "results/$held/listeners.toml" || fail 1 "services/listeners.toml is out of date: run scripts/listeners.sh"
	else
		cat "results/$held/listeners.toml" >services/listeners.toml
	fi
	exit
fi

"$root/scripts/setup.sh"
need_tools
binds=$(in_tools python3 -m bench own-binds "${servers[@]}")
mapfile -t names < <(cut -f2 <<<"$binds")
act contract "${names[@]}" -- scripts/listeners.sh "${check[@]}" "${servers[@]}" --held
