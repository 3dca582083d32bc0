# shellcheck shell=bash
# Servers that already run (--target): no containers of this project, reached from the host's network. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

is_target() { [[ ${TARGET_OF[$1]:-} ]]; }

# target_state: in the place of counters.
target_state() { echo "null no counters: not a container of this project"; }

# start_host_loadgen [NAME...]: a load generator with the rights and limits of the other one, but in the host's network; it knows
# the addresses of these containers. Commands run in it until stop_host_loadgen.
start_host_loadgen() {
	local name address hosts=() format='{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' log=$run_dir/start-loadgen.log
	for name; do
		address=$("$docker" inspect --format "$format" "$project-$name-1") || return
		hosts+=(--add-host "$name:$address")
	done
	stop_host_loadgen || return
	"$docker" run --detach --name "$project-loadgen-host-1" --network host "${hosts[@]}" --init "${confined[@]}" --tmpfs /tmp:mode=1777 \
		--memory 2g --ulimit "nofile=$NOFILE" --cpuset-cpus "$LOADGEN_CPUS" --user "$BENCH_USER" --workdir /bench \
		--label "com.docker.compose.project=$project" --label "com.docker.compose.project.working_dir=$run_dir" --volume "$root:/bench:ro" --volume "$root/results:/bench/results" \
		--volume /sys/fs/cgroup:/host/cgroup:ro bench/loadgen sleep infinity >"$log" 2>&1 || return
	loadgen='loadgen-host'
}

# shellcheck disable=SC2034 # containers.sh uses it
stop_host_loadgen() {
	((${#TARGET_OF[@]} == 0)) || "$docker" rm --force --volumes "$project-loadgen-host-1" >/dev/null 2>&1 || true
	loadgen=loadgen
}

# check_targets: whether they answer, before anything is built; where a run goes on, as they did when it began.
check_targets() {
	local name log status
	((${#TARGET_OF[@]})) || return 0
	start_host_loadgen || fail 1 "the load generator does not start in the host's network: $(tail -n1 "$run_dir/start-loadgen.log")"
	for name in "${!TARGET_OF[@]}"; do
		log=$run_dir/raw/services/$name/verify.txt status=0
		mkdir -p "${log%/*}"
		attend in_loadgen python3 -m bench target-answers "$run" "$name" >"$log" 2>&1 || status=$?
		((status != 2)) || fail 2 "$(sed -n '$s/^bench: //p' "$log")"
		((status == 0)) || warn "$(tail -n1 "$log")"
	done
	stop_host_loadgen
}

# verify_targets: beside a user's own app, they have to answer as it does.
verify_targets() {
	local name
	[[ $OWN_APP ]] && ((${#TARGET_OF[@]})) || return 0
	start_host_loadgen
	for name in "${!TARGET_OF[@]}"; do
		[[ -e $run_dir/raw/services/$name/failure.json ]] || check_own_answers "$name"
	done
	stop_host_loadgen
}
