# shellcheck shell=bash
# A run has one writer. It holds a lock on RUN/.writer through an open file that all it starts inherit: the kernel lets go of
# the lock when the last of them ends, and by that file they are found. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# become_writer: of this run, or status 2 with the one that is. What a killed call left has 2 s to end, and is killed then.
become_writer() {
	local pid='' since='' i
	exec 8<>"$run_dir/.writer"
	for ((i = 0; i < 20; i++)); do
		! flock --timeout 0.1 8 || break
		read -r pid since <"$run_dir/.writer" || true
		[[ $pid != *@* ]] || fail 2 "$run is being measured since $since by docker-compose up bench (container ${pid#*@}): wait for it, or end it (docker-compose down)"
		! has_lock_open "$pid" || fail 2 "$run is being measured since $since by process $pid: wait for it, or end it (kill $pid)"
		((i > 0)) || say "waiting for what is left of process $pid, which measured $run and was killed"
	done
	if ((i == 20)); then
		end_writers
		flock --timeout 2 8 || fail 2 "$run is locked by what process $pid has left since $since: end that (fuser $run_dir/.writer)"
	fi
	# Whoever waits for the lock is no writer yet.
	exec 9<&8 8<&-
	since=$(date '+%F %T')
	# Over what is there, in one write: whoever reads it finds a whole line.
	printf '%-60s\n' "$$$writer_place $since" >&9
}

# In a container, whose process ids are not this machine's: @ and its name.
writer_place=''

has_lock_open() { [[ $1 && /proc/$1/fd/9 -ef $run_dir/.writer ]]; }

# end_writers: what has the lock open, but this shell and its guard. All are stopped before the first is killed: none is to see
# another one end, and to write that down as the failure of what it measures.
end_writers() {
	local writers=() known=-1 i
	find_writers
	while ((${#writers[@]} > known)); do
		known=${#writers[@]}
		signal_writers STOP
		find_writers
	done
	signal_writers KILL
	for ((i = 0; i < 50; i++)); do
		find_writers
		((${#writers[@]})) || return 0
		sleep 0.02 9>&-
	done
}

# find_writers: sets `writers`.
find_writers() {
	local place pid
	writers=()
	for place in /proc/[0-9]*/fd/9; do
		[[ $place -ef $run_dir/.writer ]] || continue
		pid=${place#/proc/} pid=${pid%%/*}
		[[ " $$ $BASHPID ${guard_PID:-} " == *" $pid "* ]] || writers+=("$pid")
	done
}

signal_writers() { ((${#writers[@]} == 0)) || kill -s "$1" "${writers[@]}" 2>/dev/null || true; }
