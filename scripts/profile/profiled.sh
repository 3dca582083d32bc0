# shellcheck shell=bash
# Services that scripts/profile.sh starts beside their database, in a project of its own. Only declares;
# the script sets `paths`.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/../lib/compose.sh"

paths=()
project=bench-profile-$$ profiles=$root/results/profiles

# own ARGUMENT...: Compose on containers of this call alone.
own() { compose --project-name "$project" --file "$profiles/services.yml" --profile '*' "$@"; }

in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }

# start_services SERVICE...: beside their database; each answers the first path when this returns.
start_services() {
	local name log=$profiles/services.log
	mkdir -p "$profiles"
	# Only these: to read every service of the matrix, Compose takes minutes.
	in_tools python3 -m bench profile-compose "$@" >"$profiles/services.yml"
	own up --detach --no-build loadgen postgres upstream "$@" >"$log" 2>&1 ||
		fail 1 "$* do not start: build them with scripts/verify.sh $*, or see $log"
	for name; do
		in_loadgen curl -sf --retry 50 --retry-all-errors --retry-delay 1 --output /dev/null "http://$name:8080${paths[0]}" ||
			fail 1 "$name does not answer ${paths[0]} with success"
	done
}

# stop_services: if any were started.
stop_services() {
	[[ ! -e $profiles/services.yml ]] || own down --timeout 0 --volumes >/dev/null 2>&1 || true
}

first_pid() { "$docker" inspect --format '{{.State.Pid}}' "$project-$1-1"; }
