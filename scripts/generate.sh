#!/usr/bin/env bash
#
# Usage: scripts/generate.sh [--check]
#
# Writes the files that are generated from services/matrix.toml and the facts of servers and frameworks:
# services/compose.yml, services/bench.yml, services/bases.tsv, services/names.tsv and docs/catalogue.md.
#
#   --check   write nothing; fail if one of these files is out of date
set -Eeuo pipefail
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/lib/engine.sh"
trap_errors

case ${1:-} in
'') check='' ;;
--check) check=1 ;;
-h | --help) usage && exit ;;
*) fail_unknown "$1" ;;
esac

need_tools
generated=$(mktemp)
trap 'rm -f "$generated"' EXIT
for file in services/{compose.yml,bench.yml,bases.tsv,names.tsv} docs/catalogue.md; do
	in_tools python3 -m bench generate "${file##*/}" >"$generated"
	if [[ $check ]]; then
		diff -u "$root/$file" "$generated" || fail 1 "$file does not match the matrix: run scripts/generate.sh"
	else
		save "$root/$file" <"$generated"
	fi
done
