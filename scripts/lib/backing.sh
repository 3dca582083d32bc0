# shellcheck shell=bash
# Counters of what runs for as long as the run does, and of a service that has nothing to do. Only declares.
# shellcheck disable=SC2154 # what containers.sh sets, which reads this

# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/counters.sh"

declare -A backing_pid

# find_backing: who stands beside the services for the length of the run; looked up once.
find_backing() {
	local database upstream
	find_irq_time
	{ read -r database && read -r upstream; } < <("$docker" inspect --format '{{.State.Pid}}' "$project"-{postgres,upstream}-1)
	backing_pid=([database]=$database [upstream]=$upstream)
}

# backing_state NAME: of database or upstream.
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
