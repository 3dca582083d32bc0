# shellcheck shell=bash
# A user's own app in its run: whether it can be imported, its command before the load. Only declares; needs
# containers.sh and verify.sh.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/own_answers.sh
source "${BASH_SOURCE[0]%/*}/own_answers.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# Seconds for the app's import, and for its command before the load.
import_timeout=${IMPORT_TIMEOUT:-30} before_timeout=${BEFORE_TIMEOUT:-300}

# ready_own_app: once a run, after its images are built and what the app depends on is up.
ready_own_app() {
	local service built=()
	[[ $OWN_APP && ! -e $run_dir/app/answers.json ]] || return 0
	for service in "${SERVICES[@]}"; do
		[[ -e $run_dir/raw/services/$service/failure.json ]] || built+=("$service")
	done
	((${#built[@]})) || fail 2 "no server could be built with $OWN_APP: $(why_not "${SERVICES[0]}")"
	await_own_services
	import_own_app "${built[0]}"
	[[ ! $OWN_BEFORE ]] || run_before "${built[0]}"
	record_answers "${built[@]}"
}

# build_own_services: those that are not images from elsewhere.
build_own_services() {
	local found log=$run_dir/build-own.log words
	own_services
	((${#found[@]})) || return 0
	attend run_compose build --progress plain "${found[@]}" >"$log" 2>&1 && return
	words=$(tail -n1 "$log")
	fail 2 "--compose: $words"
}

# await_own_services: until they are healthy, of those without a check running; two minutes at most.
await_own_services() {
	local found log=$run_dir/start-own.log words
	own_services
	((${#found[@]})) || return 0
	attend run_compose up --detach --no-build --no-recreate --wait --wait-timeout 120 "${found[@]}" >"$log" 2>&1 && return
	words=$(run_compose logs --no-color --tail 3 "${found[@]}" 2>&1 | tail -c 600 | tr -s '\n ' ' ')
	fail 2 "--compose: $(tail -n1 "$log"); last words: $words"
}

# import_own_app SERVICE: in its container, with its limits, but without its server.
import_own_app() {
	local log=$run_dir/app/import.txt status=0
	in_own_image "$1" "$import_timeout" "$log" python3 -c 'import app' || status=$?
	((status != 124)) || fail 2 "$OWN_APP does not import: not done after $import_timeout s$(last_line "$log")"
	((status == 0)) || refuse_own_app "$OWN_APP does not import" "$log"
}

run_before() {
	local log=$run_dir/app/before.txt status=0
	say "before the load: $OWN_BEFORE"
	in_own_image "$1" "$before_timeout" "$log" sh -c "cd /srv/app && PYTHONPATH=/srv/app:/srv/app/src:\$PYTHONPATH && export PYTHONPATH && $OWN_BEFORE" || status=$?
	((status != 124)) || fail 2 "--before: not done after $before_timeout s$(last_line "$log")"
	((status == 0)) || refuse_own_app "--before: status $status" "$log"
}

# in_own_image SERVICE SECONDS LOG COMMAND...: one command in a container like the service's; its output, of bounded size, to
# LOG. Status 124 where the time was up.
in_own_image() {
	local name=$project-once status=0
	# shellcheck disable=SC2016 # the inner shell expands it
	attend timeout --kill-after 5 "$2" bash -c '"$@" 2>&1 | tail -c 65536 >"$0"; exit "${PIPESTATUS[0]}"' "$3" \
		env "${own_unset[@]}" "$docker" compose --project-name "$project" --file "$run_dir/compose.yml" "${own_values[@]}" run --rm --no-deps --no-TTY --name "$name" --entrypoint '' "$1" "${@:4}" || status=$?
	"$docker" rm --force --volumes "$name" >/dev/null 2>&1 || true
	return "$status"
}
