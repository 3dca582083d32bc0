#!/usr/bin/env bash
#
# Usage: scripts/listeners.sh [--check] [SERVER...]
#
# Starts each server as its own documentation does, in its image but without the matrix's start files, and
# writes the options of its sockets, as the kernel has them, into services/listeners.toml (`own`).
# scripts/verify.sh compares services with them.
#
#   --check    write nothing; fail if the table is out of date
#   SERVER     only these
set -Eeuo pipefail
# shellcheck source=scripts/lib/containers.sh
source "${BASH_SOURCE[0]%/*}/lib/containers.sh"
# shellcheck source=scripts/lib/images.sh
source "${BASH_SOURCE[0]%/*}/lib/images.sh"
# shellcheck source=scripts/lib/run.sh
source "${BASH_SOURCE[0]%/*}/lib/run.sh"
# shellcheck source=scripts/lib/sockets.sh
source "${BASH_SOURCE[0]%/*}/lib/sockets.sh"
trap_errors

check='' servers=()
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--check) check=1 ;;
	-*) fail 2 "unknown argument '$1', see --help" ;;
	*) servers+=("$1") ;;
	esac
	shift
done

"$root/scripts/setup.sh"
find_docker
binds=$(in_tools python3 -m bench own-binds "${servers[@]}")
mapfile -t names < <(cut -f2 <<<"$binds")
run=$(plan_verb contract "${names[@]}")

# own_bind SERVER SERVICE START: a line `SERVER<tab>JSON`.
own_bind() {
	local container=$project-own-$1 words tries
	"$docker" run --detach --name "$container" --label "bench.run=$project" --network none --init "${confined[@]}" --tmpfs /tmp \
		--sysctl net.core.somaxconn=16384 --env PYTHONPATH=/own --env PYTHONDONTWRITEBYTECODE=1 \
		--volume "$root/scripts/listeners:/own:ro" --workdir /tmp "${IMAGE_OF[$2]}" sh -c "exec $3" >/dev/null
	for ((tries = 0; tries < 60; tries++)); do
		words=$(read_sockets "$container")
		[[ $words != *'"fault"'* ]] || { sleep 0.5 && continue; }
		break
	done
	[[ $words == *'"options"'* ]] || "$docker" logs --tail 5 "$container" >&2 || true
	"$docker" rm --force --volumes "$container" >/dev/null
	printf '%s\t%s\n' "$1" "$words"
}

read_all() {
	local server service start
	build_services
	while IFS=$'\t' read -r server service start; do
		say "$server"
		own_bind "$server" "$service" "$start"
	done <<<"$binds" | save "$run_dir/own-binds.tsv"
	in_tools python3 -m bench own-binds-read <"$run_dir/own-binds.tsv" | save "$run_dir/listeners.toml"
	if [[ $check ]]; then
		diff -u "$root/services/listeners.toml" "$run_dir/listeners.toml" || fail 1 "services/listeners.toml is out of date: run scripts/listeners.sh"
	else
		cat "$run_dir/listeners.toml" >"$root/services/listeners.toml"
	fi
}

open_run "$run"
in_run read_all
