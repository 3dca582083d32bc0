# shellcheck shell=bash
# What runs for as long as the run does: database, upstream, load generator; their counters, and those of a service
# that has nothing to do. Only declares.
# shellcheck disable=SC2154 # what containers.sh sets, which reads this

# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/counters.sh"
# shellcheck source=scripts/lib/dead_runs.sh
source "${BASH_SOURCE[0]%/*}/dead_runs.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"

declare -A backing_pid backing_address

# start_backing: database, upstream and load generator, for the length of the run.
start_backing() {
	local log=$run_dir/start.log
	if ! up_backing && ! { subnet_taken && remove_dead_runs && up_backing; }; then
		! subnet_taken || fail 2 "the subnet $BENCH_SUBNET is in use (another run?): end that, or set BENCH_SUBNET in .env"
		fail 1 "the database, upstream or load generator does not start: $(tail -n1 "$log")"
	fi
	for ((i = 0; i < 100; i++)); do
		databases_ready && find_backing && return
		sleep 0.1
	done
	fail 1 "the database has no rows after 10 s: $("$docker" logs --tail 1 "$project-postgres-1" 2>&1)"
}

up_backing() { attend run_compose up --detach --no-build "${backing[@]}" >"$log" 2>&1; }

databases_ready() {
	local name
	for name in "${backing[@]}"; do
		[[ $name != postgres* ]] || "$docker" exec "$project-$name-1" /usr/local/bin/ready >/dev/null 2>&1 || return
	done
}

subnet_taken() { grep -Eq 'Pool overlaps|Address already in use' "$log"; }

# find_backing: who stands beside the services for the length of the run; looked up once.
find_backing() {
	local name format='{{.State.Pid}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
	find_irq_time
	for name in "${backing[@]}"; do
		read -r "backing_pid[$name]" "backing_address[$name]" < <("$docker" inspect --format "$format" "$project-$name-1") || return
	done
}

address_of() { printf '%s' "${backing_address[$1]:-}"; }

# backing_state NAME: its counters.
backing_state() { counters "${backing_pid[$1]:-0}"; }

# keep_idle SERVICE: its counters when nothing was asked of it but one answer, once its memory has settled (5 s at
# most): other workers may still load while the first one answers.
keep_idle() {
	local state was now=0 i
	for ((i = 0; i < 25; i++)); do
		was=$now state=$(server_state "$1")
		now=$(sed -n 's/^memory_current_bytes //p' <<<"$state")
		((${now:-0} > was + was / 100)) || break
		sleep 0.2
	done
	{ printf '%s\n' "$state" && file_memory "$server_pid"; } | save "$run_dir/raw/services/$1/idle.txt"
}
