# shellcheck shell=bash
# A second Docker daemon in its own network namespace, for tests that kill the daemon. Only declares; needs root.

# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/bases.sh"
# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"

daemon_home=${SECOND_DAEMON:-/tmp/bench-second-daemon}
daemon_netns=bench-second-daemon

# second_daemon_up: starts it from scratch, unless it answers already. A killed test may have left a socket without a daemon.
second_daemon_up() {
	! second_docker version >/dev/null 2>&1 || return 0
	((EUID == 0)) || fail 2 "a second Docker daemon needs root"
	second_daemon_down
	mkdir -p "$daemon_home"
	ip netns add "$daemon_netns"
	ip -n "$daemon_netns" link set lo up
	second_daemon_start
}

# second_daemon_start: starts it with its existing data. Uses nsenter, because `ip netns exec` would hide the cgroups.
second_daemon_start() {
	local i
	rm -f "$daemon_home/dockerd.pid"
	setsid nsenter "--net=/run/netns/$daemon_netns" dockerd --data-root "$daemon_home/data" --exec-root "$daemon_home/exec" \
		--pidfile "$daemon_home/dockerd.pid" --host "unix://$daemon_home/docker.sock" --log-level warn >>"$daemon_home/log" 2>&1 </dev/null 4<&- &
	daemon_pid=$!
	disown "$daemon_pid"
	for ((i = 0; i < 300; i++)); do
		! second_docker version >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	tail -n 5 "$daemon_home/log" >&2
	fail 1 "the second Docker daemon does not answer"
}
daemon_pid=''

second_docker() { DOCKER_HOST=unix://$daemon_home/docker.sock "$docker" "$@"; }

# second_daemon_takes IMAGE...: copies these images, and those that every run needs, from this machine's daemon.
second_daemon_takes() {
	local bases names
	bases=$(setup_bases)
	mapfile -t names <<<"$bases"
	"$docker" save "${harness[@]/#/bench/}" "${names[@]}" "$@" | second_docker load >/dev/null
}

# second_daemon_kill SIGNAL: signals only the daemon (its containers may live on) and waits until it has ended: after SIGTERM, it
# still answers while it waits for its containers.
second_daemon_kill() {
	local i
	kill -s "$1" "$daemon_pid" || return
	for ((i = 0; i < 900; i++)); do
		kill -0 "$daemon_pid" 2>/dev/null || return 0
		sleep 0.1
	done
	fail 1 "the second Docker daemon does not end"
}

# is_of_daemon CMDLINE: whether the process belongs to the daemon; false if it has just ended.
is_of_daemon() { tr '\0' ' ' <"$1" | grep -qE "^([^ ]*/)?(dockerd|containerd|containerd-shim[^ ]*) .*$daemon_home/"; } 2>/dev/null

# second_daemon_down: removes it with its containerd, containers, mounts, cgroups, network and folder.
second_daemon_down() {
	local place pids=() i
	[[ -d $daemon_home || -e /run/netns/$daemon_netns ]] || return 0
	if [[ -S $daemon_home/docker.sock ]]; then
		# failure ignored: a daemon that no longer answers cannot list its containers
		for place in $(second_docker ps --all --quiet 2>/dev/null); do second_docker rm --force --volumes "$place" >/dev/null 2>&1 || true; done
	fi
	# The daemon, its containerd and its shims have the folder in their arguments.
	for ((i = 0; i < 100; i++)); do
		pids=()
		for place in /proc/[0-9]*/cmdline; do
			! is_of_daemon "$place" || pids+=("${place//[^0-9]/}")
		done
		((${#pids[@]})) || break
		if ((i == 0)); then kill -TERM "${pids[@]}"; elif ((i == 50)); then kill -KILL "${pids[@]}"; fi 2>/dev/null || true
		sleep 0.1
	done
	awk -v home="$daemon_home/" 'index($2, home) == 1 { print $2 }' /proc/mounts | sort -r | xargs --no-run-if-empty umount --lazy 2>/dev/null || true
	ip netns delete "$daemon_netns" 2>/dev/null || true
	rm -rf "$daemon_home"
}
