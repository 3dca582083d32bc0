# shellcheck shell=bash
# py-spy beside a container: it needs neither root nor py-spy on the host. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

# Samples a second.
sample_rate=250

# sample_container CONTAINER NAME SECONDS FILE: the stacks of all threads that run Python in a container, collapsed, into FILE,
# whole or not at all: a recording of each second, with an empty line between two, as how much they differ says how far the
# samples can be relied on. If it is ended from outside, those that are complete count. Its own container is NAME. It is in the other one's process namespace, whose first process
# is Docker's init, and may look into processes of other users: only root may have that capability in effect. Without a
# network and on the load generator's CPUs. What py-spy says goes to standard error.
sample_container() {
	local cpus=()
	[[ ! ${LOADGEN_CPUS:-} ]] || cpus=(--cpuset-cpus "$LOADGEN_CPUS")
	# shellcheck disable=SC2016 # the container's shell expands it
	{ "$docker" run --rm --name "$2" --label "bench.run=${project:-}" --pid "container:$1" --network none --cap-drop ALL --cap-add SYS_PTRACE --user 0:0 \
		"${cpus[@]}" --read-only --tmpfs /tmp --workdir / --entrypoint '' bench/loadgen sh -c '
			for i in $(seq "$2"); do
				py-spy record --pid 1 --subprocesses --format raw --rate "$1" --duration 1 --output /tmp/stacks >&2 && cat /tmp/stacks && echo || exit
			done
			' sh "$sample_rate" "$3" </dev/null || true; } | save "$4.part" && [[ -s $4.part ]] && mv "$4.part" "$4" && return
	rm -f "$4.part" || return
	return 1
}
