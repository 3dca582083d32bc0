# shellcheck shell=bash
# How long the threads of the load tool waited for a CPU.

# watch_waits FILE: writes to it, ten times a second, a line `NS WAITED THREADS`: the time, the nanoseconds that the
# threads of the load tool have by then been ready to run and waited for a CPU, and their number. Not after the load: the
# kernel drops a thread's counters when it ends. Of the tool's process and not of the cgroup: version 1 has no such counter.
watch_waits() {
	local -
	set +x
	local proc=${PROC_ROOT:-/proc} process name thread waited sum threads never
	exec {never}<> <(:) # nothing ever comes from there: a pause that starts no process
	while kill -0 $$ 2>/dev/null; do
		sum=0 threads=0
		for process in "$proc"/[0-9]*; do
			# What has ended since the folder was read has neither file.
			{ read -r name <"$process/comm"; } 2>/dev/null || continue
			[[ $name == "${LOAD[TOOL]}" ]] || continue
			for thread in "$process"/task/*; do
				{ read -r _ waited _ <"$thread/schedstat"; } 2>/dev/null || continue
				((threads += 1, sum += waited)) || true
			done
		done
		((threads == 0)) || echo "${EPOCHREALTIME/./}000 $sum $threads" >>"$1"
		read -r -t 0.1 -u "$never" || true
	done
}

# add_waits FILE: adds the last line of such a file that has all threads: those that end early (wrk's do) take their
# waits out of the sum.
add_waits() {
	local line seen waited threads
	if [[ -s $1 ]]; then
		line=$(sort --stable --key=2,2n "$1" | tail -n 1)
		read -r seen waited threads <<<"$line"
		FACTS+=(waits/seen_ns "$seen" waits/waited_ns "$waited" waits/threads "$threads")
	else
		FACTS+=(waits/missing "no thread of the tool was seen at work: a short load, or a kernel without schedstat")
	fi
}
