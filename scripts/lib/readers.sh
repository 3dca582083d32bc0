# shellcheck shell=bash
# The counters of a container are read on the machine that it is on: here by this shell; on another machine in a container of
# the harness's image, which sees that machine's cgroups and processes, read-only, and serves them in the run's network to
# `bench turns` too (bench/load/far_counters.py). Only declares.

# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/counters.sh"
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# read_at ROLE FUNCTION ARGUMENT...: a function of counters.sh, on the machine of this role.
read_at() {
	if [[ ! ${context_of[$1]:-} ]]; then
		"${@:2}"
		return
	fi
	# shellcheck disable=SC2016 # for the shell there
	at "$1" exec --env CGROUP_ROOT=/host/cgroup "$project-counters-$1" bash -c '
		source scripts/lib/counters.sh && find_irq_time && "$@"
		[[ $1 != counters ]] || echo "host_cpus $(getconf _NPROCESSORS_ONLN)"' - "${@:2}" || return
	[[ $2 != counters || ! $apart ]] || echo "apart $apart"
}

# start_reader ROLE: of that role's machine. Of its processes and cgroups it can read what everyone there can, and no more.
start_reader() {
	local address=${reader_at[$1]:-} way=(--network "$project" --network-alias "counters-$1")
	[[ ! $address ]] || way=(--network "$project-outer" --publish "$address:7070")
	at "$1" run --detach --name "$project-counters-$1" --label "com.docker.compose.project=$project" "${way[@]}" --pid host --cgroupns host --init "${confined[@]}" --tmpfs /tmp:mode=1777 --memory 256m \
		--user 65534:65534 --workdir /bench --volume "$project-source:/bench:ro" --volume /sys/fs/cgroup:/host/cgroup:ro \
		bench/loadgen python3 -m bench counters /tmp/containers.tsv >/dev/null
}

# need_readers: those that the load generator asks while it loads; without them no window would count.
need_readers() {
	local role readers=() words
	for role in server support; do readers+=("${reader_at[$role]:-counters-$role}"); done
	words=$(at loadgen exec "$project-loadgen-1" python3 -m bench counters-reached "${readers[@]}" 2>&1) || {
		need_nodes
		fail 1 "the load generator on ${node_of[loadgen]} does not reach the counters: ${words##*$'\n'}"
	}
}

# tell_readers: which cgroups they may read for this block.
tell_readers() {
	local role
	for role in server support; do
		at "$role" exec --interactive "$project-counters-$role" sh -c 'cat >/tmp/new && mv /tmp/new /tmp/containers.tsv' \
			<"$run_dir/${lane}containers.tsv" || return
	done
}
