#!/usr/bin/env bash
#
# Usage: scripts/new.sh server|framework NAME [asgi|wsgi]
#
# Begins a server or a framework: its folder, with files that serve already, and its line in
# services/matrix.toml. Then it says the next three steps; CONTRIBUTING.md says what is left to write.
#
#   NAME       lower-case letters, digits and '-', as its services will be called
#   asgi|wsgi  the interface that a server hosts or a framework needs (asgi)
set -Eeuo pipefail
# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/lib/common.sh"
trap_errors

case ${1:-} in
-h | --help) usage && exit ;;
server | framework) ;;
*) fail 2 "'${1:-}' is neither server nor framework, see --help" ;;
esac
(($# == 2 || $# == 3)) || fail 2 "a name is needed, and then at most an interface, see --help"
kind=$1 name=$2 interface=${3:-asgi}
matrix=$root/services/matrix.toml
folder=$root/services/${kind}s/$name

[[ $name =~ ^[a-z0-9][a-z0-9-]*$ ]] || fail 2 "name '$name' is not lower-case letters, digits and '-'"
case $kind-$interface in
framework-asgi | framework-wsgi) line="interface = \"$interface\", lacks = { \"*\" = \"not yet offered\" }" services="*-$name" ;;
server-asgi) line='serves = ["asgi"], style = "async", concurrent = true, model = "..."' services="$name-*" ;;
server-wsgi) line='serves = ["wsgi"], style = "sync", concurrent = false, model = "..."' services="$name-*" ;;
*) fail 2 "interface '$interface' is neither asgi nor wsgi; for another one begin with either and mend its line" ;;
esac

# with_line: the list with one more line at the end of the kind's table; fails where the name is taken.
with_line() {
	awk -v table="[${kind}s]" -v name="$name" -v line="$name = { $line }" '
		!/^[a-z0-9-]+ = / && inside && seen { print line; inside = 0; written = 1 }
		/^\[/ { inside = $0 == table }
		inside && /^[a-z0-9-]+ = / { seen = 1; if ($1 == name) exit 1 }
		{ print }
		END { exit !written }' "$matrix"
}

[[ ! -e $folder ]] || fail 2 "there is a $kind '$name' already: services/${kind}s/$name"
list=$(with_line && echo .) || fail 2 "services/matrix.toml has '$name' among its ${kind}s already, or no table of them"
trap 'rm -rf "$folder"; on_error $? "$BASH_COMMAND"' ERR
cp -r "$root/services/templates/$kind-$interface" "$folder"
sed -i "s/\<NAME\>/$name/g" "$folder"/*
save "$matrix" <<<"${list%$'\n'.}"

python=$(sed -n '/^\[defaults\]/,/^\[[^d]/s/^python = "\(.*\)"/\1/p' "$matrix")
cat <<STEPS
services/${kind}s/$name and its line in services/matrix.toml are written. Next, and again after each change:
  scripts/lock.sh $name    pins what its requirements.txt asks for
  scripts/generate.sh    writes its services
  scripts/verify.sh '$services-py${python/./}-debian'
STEPS
