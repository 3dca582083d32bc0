# shellcheck shell=bash
# A run from its folder to its last container: open, build, start what all need, close. Only declares.
# Sets: run, run_dir, project, services.

# shellcheck source=scripts/lib/containers.sh
source "${BASH_SOURCE[0]%/*}/containers.sh"

# open_run NAME: from here on, functions work on this run, and its own knobs hold.
open_run() {
	local key value
	run=$1 run_dir=$root/results/$1 project=bench-$1
	while IFS='=' read -r key value; do export "$key=$value"; done <"$run_dir/knobs.env"
	BENCH_USER=$(id -u):$(id -g)
	export BENCH_USER
	mapfile -t services < <(report services "$run" | cut -f1)
	[[ -s $run_dir/compose.yml ]] || compose --project-name "$project" --file "$run_dir/services.yml" --profile '*' \
		config loadgen postgres upstream "${services[@]}" | save "$run_dir/compose.yml"
}

# close_run: no container and no network of this run is left.
close_run() {
	trap '' INT TERM
	[[ -z $child ]] || kill "$child" 2>/dev/null || true
	[[ -z ${project:-} || ! -s $run_dir/compose.yml ]] ||
		run_compose --profile '*' down --timeout 0 --volumes --remove-orphans >/dev/null 2>&1 || true
}

# build_services: all at once; where that fails, one by one, to know which.
build_services() {
	local service log=$run_dir/build.log
	say "building ${#services[@]} services"
	attend run_compose build --progress plain "${services[@]}" >"$log" 2>&1 && return
	for service in "${services[@]}"; do
		log=$run_dir/raw/services/$service/build.log
		mkdir -p "${log%/*}"
		attend run_compose build --progress plain "$service" >"$log" 2>&1 && continue
		service_failed "$service" "build failed" "$(build_error "$log" | cut -c1-300)"
	done
}

# build_error LOG: the last words of the step that failed, which BuildKit repeats at the end behind their time; else its own.
build_error() {
	sed -nE 's/^[0-9]+\.[0-9]+ +(.*[^[:space:]].*)/\1/p' "$1" | tail -n1 | grep . || grep -i error "$1" | grep -v '^--' | tail -n1
}

# start_backing: database, upstream and load generator, for the length of the run.
start_backing() {
	local log=$run_dir/start.log
	if ! attend run_compose up --detach --no-build loadgen postgres upstream >"$log" 2>&1; then
		! grep -Eq 'Pool overlaps|Address already in use' "$log" ||
			fail 2 "the subnet $BENCH_SUBNET is in use (another run?): end that, or set BENCH_SUBNET in .env"
		fail 1 "the database, upstream or load generator does not start: $(tail -n1 "$log")"
	fi
	for ((i = 0; i < 100; i++)); do
		"$docker" exec "$project-postgres-1" /usr/local/bin/ready >/dev/null 2>&1 && return
		sleep 0.1
	done
	fail 1 "the database has no rows after 10 s: $("$docker" logs --tail 1 "$project-postgres-1" 2>&1)"
}

# verify_in_parallel JOBS: every service of the run, JOBS at a time; each one's lines stay together.
verify_in_parallel() {
	local jobs=$1 name image waits routes
	while IFS=$'\t' read -r -u 3 name image waits routes; do
		[[ ! -e $run_dir/raw/services/$name/failure.json ]] || continue
		while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
		verify_service "$name" "$waits" "$routes" 2>/dev/null &
	done 3< <(report services "$run")
	wait
}
