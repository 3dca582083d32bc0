#!/usr/bin/env bash
#
# Usage: scripts/publish.sh RUN NAME
#
# Puts a run under results/published/NAME, as it is to be committed: what a person reads, and raw.tar.xz with the raw
# files and the plan, from which scripts/report.sh makes the rest again. RUN is a folder under results/, by name or path.
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
esac
(($# == 2)) || fail 2 "a run and a name are needed, see --help"
run=$1 published=$root/results/published/$2
[[ -d $run ]] || run=$root/results/$1
[[ -s $run/run.json && -s $run/report.md ]] || fail 2 "'$1' is no run with a report: scripts/report.sh makes one"
[[ $2 =~ ^[a-z0-9][a-z0-9-]*$ ]] || fail 2 "name '$2' is not lower-case letters, digits and '-'"
[[ ! -e $published ]] || fail 2 "$published is there already: remove it, or choose another name"

mkdir -p "$published"
for name in run.json report.md verdicts.jsonl selftest.md; do
	[[ ! -s $run/$name ]] || cp "$run/$name" "$published/"
done
# Neither the resolved Compose file nor the logs of the builds: they hold paths of this machine.
(cd "$run" && tar --create --sort=name --owner=0 --group=0 --numeric-owner raw plan.jsonl services.yml knobs.env) |
	xz -9 --threads=0 >"$published/raw.tar.xz"
say "$published"
