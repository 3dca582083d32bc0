# shellcheck shell=bash
# What ends a run whose script was killed, so that it cannot do that itself. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/leftovers.sh
source "${BASH_SOURCE[0]%/*}/leftovers.sh"
# shellcheck source=scripts/lib/writer.sh
source "${BASH_SOURCE[0]%/*}/writer.sh"

# start_guard: a process in a group of its own, at the end of a pipe whose other end only this shell has: bash closes it in all
# that it starts. When that end is closed and nothing was said, this shell was killed.
start_guard() {
	set -m
	coproc guard { await_end >/dev/null 2>&1; }
	set +m
	# shellcheck disable=SC2154 # coproc sets it
	disown "$guard_PID"
}

# await_end: of the run. It holds the run's lock until nothing is left of it.
await_end() {
	trap '' INT TERM HUP
	! read -r || return 0
	end_writers
	remove_run
	# And what the engine was still creating for a client that was killed.
	remove_left
}

# dismiss_guard: this shell has taken the run away itself.
dismiss_guard() { { [[ ! ${guard[1]:-} ]] || echo ended >&"${guard[1]}"; } 2>/dev/null || true; }
