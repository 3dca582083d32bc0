# shellcheck shell=bash
# The socket options of what runs in a container, read from outside it. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# read_sockets CONTAINER: prints a line of JSON (bench/contract/sockets.py): the options, or why there are none. The reader is in
# the namespaces of that container and may look into its processes; only root may have that capability in effect.
read_sockets() {
	local words
	if words=$("$docker" run --rm --label "bench.run=${project:-}" --pid "container:$1" --network "container:$1" --cap-drop ALL --cap-add SYS_PTRACE --user 0:0 \
		--read-only --tmpfs /tmp --volume "$root:/bench:ro" --workdir /bench --entrypoint '' bench/loadgen python3 -m bench sockets 2>&1); then
		printf '%s\n' "$words"
	else
		words=${words##*$'\n'}
		printf '{"unreadable": "no container can look into the service: %s"}\n' "${words//[^[:alnum:] .:,()_\/-]/ }"
	fi
}

# check_sockets NAME: what the service's sockets are, for the table in services/listeners.toml (bench/contract/listeners.py).
check_sockets() { read_sockets "$project-$1-1" | save "$run_dir/raw/services/$1/sockets.json"; }
