# shellcheck shell=bash
# The stages of one run, in the order of scripts/matrix.sh. Only declares.
# Needs from the caller: run (its name). Sets: run_dir, project, loadgen.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/counters.sh"

# attend COMMAND...: like running it, but a signal is served at once and not when it ends.
attend() {
	"$@" &
	child=$!
	wait "$child"
}
child=''

# run_compose ARGUMENT...: Compose on this run's own resolved file, and on no other.
run_compose() { "$docker" compose --project-name "$project" --file "$run_dir/compose.yml" "$@"; }

# open_run NAME: from here on, functions work on this run.
open_run() {
	run=$1 run_dir=$root/results/$1 project=bench-$1
	# The run's own knobs hold, also against what is exported here.
	local key value
	while IFS='=' read -r key value; do export "$key=$value"; done <"$run_dir/knobs.env"
	BENCH_USER=$(id -u):$(id -g)
	export BENCH_USER
	mapfile -t services < <(in_tools python3 -m report services "$run" | cut -f1)
	[[ -s $run_dir/compose.yml ]] || compose --file "$run_dir/services.yml" --profile '*' \
		config loadgen postgres upstream "${services[@]}" | save "$run_dir/compose.yml"
}

# service_failed SERVICE OUTCOME DETAIL: its cells are not loaded, and the report says why.
service_failed() {
	say "$1: $2: $3"
	json_object outcome "$2" detail "$3" | save "$run_dir/raw/services/$1/failure.json"
}

# build_services: all at once; where that fails, one by one, to know which.
build_services() {
	local service log=$run_dir/build.log
	say "building ${#services[@]} services"
	attend run_compose build --progress plain "${services[@]}" >"$log" 2>&1 && return
	for service in "${services[@]}"; do
		mkdir -p "$run_dir/raw/services/$service"
		log=$run_dir/raw/services/$service/build.log
		attend run_compose build --progress plain "$service" >"$log" 2>&1 && continue
		service_failed "$service" "build failed" "$(grep -iE 'error' "$log" | grep -v '^--' | tail -n1 | cut -c1-300)"
	done
}

# start_backing: database, upstream and load generator, for the length of the run.
start_backing() {
	local log=$run_dir/start.log
	if ! attend run_compose up --detach --wait --no-build loadgen postgres upstream >"$log" 2>&1; then
		grep -q 'Pool overlaps\|Address already in use' "$log" &&
			fail 2 "the subnet $BENCH_SUBNET is in use (another run?): end that, or set BENCH_SUBNET in .env"
		fail 1 "the database, upstream or load generator does not start: $(tail -n1 "$log")"
	fi
	loadgen=$project-loadgen-1
}

in_loadgen() { "$docker" exec "$loadgen" "$@"; }

# start_service SERVICE: a fresh container of it.
start_service() {
	run_compose up --detach --no-deps --no-build --force-recreate --timeout 0 "$1" >"$run_dir/start.log" 2>&1
}

stop_service() { "$docker" rm --force --volumes "$project-$1-1" >/dev/null 2>&1 || true; }

is_running() { [[ $("$docker" inspect --format '{{.State.Running}}' "$project-$1-1" 2>/dev/null) == true ]]; }

# verify_services: the contract, once a service and run; what fails is not loaded.
verify_services() {
	local name image waits routes
	while IFS=$'\t' read -r -u 3 name image waits routes; do
		[[ -e $run_dir/raw/services/$name/failure.json ]] && continue
		keep_image "$name" "$image"
		[[ -e $run_dir/raw/services/$name/verify.json ]] || verify_service "$name" "$waits" "$routes"
	done 3< <(in_tools python3 -m report services "$run")
}

# keep_image SERVICE IMAGE: what it is, raw; a run is not continued with another image.
keep_image() {
	local kept=$run_dir/raw/services/$1/image.json id
	if [[ -e $kept ]]; then
		id=$("$docker" image inspect --format '{{.Id}}' "$2")
		grep -q "\"$id\"" "$kept" || fail 2 "$1 is another image than the one $run began with: start a new run"
	else
		"$docker" image inspect "$2" | save "$kept"
	fi
}

verify_service() {
	local name=$1 folder=$run_dir/raw/services/$1 inside=results/$run/raw/services/$1 status=0
	if ! start_service "$name"; then
		service_failed "$name" "did not start" "$(tail -n1 "$run_dir/start.log")"
		return
	fi
	in_service "$name" cat /app/packages.txt 2>/dev/null | save "$folder/packages.txt"
	in_service "$name" python3 -VV 2>/dev/null | save "$folder/python.txt"
	attend in_loadgen python3 -m report verify --service "$name" --base-url "http://$name:8080" "$2" \
		--routes "$3" --json "$inside/verify.json" >"$folder/verify.txt" 2>&1 || status=$?
	if ((status)); then
		rm -f "$folder/verify.json"
		"$docker" logs --tail 50 "$project-$name-1" >"$folder/server.log" 2>&1 || true
		if is_running "$name"; then
			service_failed "$name" "failed verification" "$(grep -m1 '^not ok' "$folder/verify.txt" || tail -n1 "$folder/verify.txt")"
		else
			service_failed "$name" "did not start" "$(grep . "$folder/server.log" | tail -n1)"
		fi
	else
		say "$name: verified ($(tail -n1 "$folder/verify.txt"))"
	fi
	stop_service "$name"
}

in_service() {
	local name=$1
	shift
	"$docker" exec "$project-$name-1" "$@"
}

# close_run: no container and no network of this run is left.
close_run() {
	trap '' INT TERM
	[[ -z $child ]] || kill "$child" 2>/dev/null || true
	[[ -n ${project:-} && -s $run_dir/compose.yml ]] || return 0
	run_compose --profile '*' down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1 || true
}
