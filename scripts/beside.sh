#!/usr/bin/env bash
#
# Usage: scripts/beside.sh COMMIT framework|server NAME
#
# Puts a framework or a server as COMMIT has it beside the one that is here, as NAME-base: its folder,
# its locks, and its line in services/matrix.toml, before the other one. A run with --mode duet then
# loads both in the same seconds, with all else as it is here, and NAME-base is what was.
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
esac
(($# == 3)) || fail 2 "a commit, a kind and a name are needed, see --help"
kind=$2 name=$3 matrix=services/matrix.toml folder=services/${2}s/$3
case $kind in
framework | server) ;;
*) fail 2 "'$kind' is neither framework nor server, see --help" ;;
esac
[[ $name =~ ^[a-z0-9][a-z0-9-]*$ ]] || fail 2 "name '$name' is not lower-case letters, digits and '-'"

cd "$root"
commit=$(git rev-parse --verify --quiet --end-of-options "$1^{commit}") || fail 2 "there is no commit '$1' in this clone: fetch it first"
git cat-file -e "$commit:$folder" 2>/dev/null || fail 2 "$1 has no $kind '$name': there is nothing to compare with"
[[ -d $folder ]] || fail 2 "there is no $kind '$name' here any more: $folder"
[[ ! -e $folder-base ]] || fail 2 "$folder-base is there already: remove it, and its line in $matrix"

# line_of: the kind's line of NAME in the list on standard input.
line_of() {
	awk -v table="[${kind}s]" -v name="$name" '/^\[/ { inside = $0 == table } inside && $1 == name && $2 == "=" { print }'
}

line=$(git show "$commit:$matrix" | line_of)
[[ $line && $(line_of <"$matrix") ]] || fail 2 "$matrix has no line of $kind '$name', here or in $1"

was=$(mktemp -d)
trap 'rm -rf "$was"' EXIT
git archive "$commit" "$folder" services/locks | tar -x -C "$was"
cp -r "$was/$folder" "$folder-base"
for lock in "$was"/services/locks/*/"$kind-$name.txt"; do
	[[ ! -e $lock ]] || cp "$lock" "services/locks/$(basename "${lock%/*}")/$kind-$name-base.txt"
done
awk -v table="[${kind}s]" -v name="$name" -v line="$name-base${line#"$name"}" '
	/^\[/ { inside = $0 == table }
	inside && $1 == name && $2 == "=" { print line }
	{ print }' "$matrix" | save "$matrix"

git diff --quiet "$commit" -- services/common services/debian.Dockerfile services/alpine.Dockerfile ||
	warn "services/common or a Dockerfile differs too: both have what is here, and that difference is not measured"
python=$(sed -n '/^\[defaults\]/,/^\[[^d]/s/^python = "\(.*\)"/\1/p' "$matrix")
case $kind in
framework) stacks=SERVER-$name-base,SERVER-$name ;;
server) stacks=$name-base-FRAMEWORK,$name-FRAMEWORK ;;
esac
say "$kind $name-base is $name as ${commit:0:12} has it. Next, with a scenario of its own:"
say "  scripts/matrix.sh --stack $stacks --python $python --base debian --scenario json --tool wrk --level 32 --mode duet"
