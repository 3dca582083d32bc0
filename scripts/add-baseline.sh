#!/usr/bin/env bash
#
# Usage: scripts/add-baseline.sh COMMIT framework|server NAME
#
# Adds a framework or a server as it was in COMMIT, under the name NAME-base: its folder, its locks, and its
# line in services/matrix.toml, before the current one. A run of both then measures them in turns. Everything
# else is the same for both, as it is here.
set -Eeuo pipefail
# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/lib/compose.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
esac
(($# == 3)) || fail 2 "a commit, a kind and a name are needed; see --help"
kind=$2 name=$3
case $kind in
framework | server) ;;
*) fail 2 "'$kind' is neither framework nor server; see --help" ;;
esac

cd "$root"
commit=$(git rev-parse --verify --quiet --end-of-options "$1^{commit}") || fail 2 "there is no commit '$1' in this clone: fetch it first"
folder=services/${kind}s/$name
git cat-file -e "$commit:$folder" 2>/dev/null || fail 2 "$1 has no $kind '$name': there is nothing to compare with"

need_tools
old=$(mktemp -d -p results .baseline-XXXXXX)
trap 'rm -rf "$old"' EXIT
git archive "$commit" "$folder" services/locks services/matrix.toml | tar -x -C "$old"
tool_options=(--volume "$root/services:/bench/services")
in_tools python3 -m bench baseline "$kind" "$name" "$old"

git diff --quiet "$commit" -- services/common services/debian.Dockerfile services/alpine.Dockerfile ||
	warn "services/common or a Dockerfile differs as well: both versions use the current one, so that difference is not measured"
