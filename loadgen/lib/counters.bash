# shellcheck shell=bash
# What the kernel counts about the load generator. Raw text: the report's parser reads it.

# Appends to `facts` (path, value, path, value, ...; see write_tool_json) the counters of this moment under the name
# given. A counter that cannot be read is left out, and its reason stands under NAME/missing.
snapshot() {
	local when=$1 root=${CGROUP_ROOT:-/sys/fs/cgroup} proc=${PROC_ROOT:-/proc} file text
	local files=(cpuacct/cpuacct.usage cpu/cpu.stat memory/memory.max_usage_in_bytes memory/memory.usage_in_bytes)
	[[ ! -e $root/cgroup.controllers ]] || files=(cpu.stat cpu.pressure memory.peak memory.current)
	for file in "${files[@]}"; do
		keep "$when/loadgen/${file##*/}" "$root/$file"
	done
	keep "$when/pressure_cpu" "$proc/pressure/cpu"
	read -r text <"$proc/stat"
	facts+=("$when/proc_stat" "$text" "$when/proc_stat_own" "$(own_cpus)")
}

# The lines of /proc/stat for the CPUs that the load generator may use.
own_cpus() {
	local proc=${PROC_ROOT:-/proc} name list='' range cpu own=' '
	while read -r name list && [[ $name != Cpus_allowed_list: ]]; do :; done 2>/dev/null <"$proc/self/status" || return 0
	for range in ${list//,/ }; do
		for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do own+="cpu$cpu "; done
	done
	while read -r name list && [[ $name == cpu* ]]; do [[ $own != *" $name "* ]] || echo "$name $list"; done <"$proc/stat"
}

# Appends the text of a file, or why there is none.
keep() {
	local path=$1 file=$2 text
	if { IFS= read -r -d '' text <"$file" || [[ -n ${text-} ]]; } 2>/dev/null; then
		facts+=("$path" "${text%$'\n'}")
	else
		facts+=("${path%%/*}/missing/${path#*/}" "cannot read $file")
	fi
}

# Writes to a file, ten times a second, a line `NS WAITED THREADS`: the time, the nanoseconds that the tool's threads have
# by then been ready to run and waited for a CPU, and their number. Not after the tool: what the kernel has of a thread
# goes with it. Of the tool's own process and not of the cgroup, since version 1 has no such counter.
watch_waits() {
	local proc=${PROC_ROOT:-/proc} process name thread waited sum threads never
	exec {never}<> <(:) # nothing ever comes from there: a pause that starts no process
	while kill -0 $$ 2>/dev/null; do
		sum=0 threads=0
		for process in "$proc"/[0-9]*; do
			# What has ended since the folder was read has neither.
			{ read -r name <"$process/comm"; } 2>/dev/null || continue
			[[ $name == "$TOOL" ]] || continue
			for thread in "$process"/task/*; do
				{ read -r _ waited _ <"$thread/schedstat"; } 2>/dev/null || continue
				((threads += 1, sum += waited)) || true
			done
		done
		((threads == 0)) || echo "${EPOCHREALTIME/./}000 $sum $threads" >>"$1"
		read -r -t 0.1 -u "$never" || true
	done
}

# Appends what the last line of such a file says that has all threads: those that end sooner than others (wrk's do) take
# theirs out of the sum.
waits() {
	local seen waited threads
	if read -r seen waited threads < <(sort --stable --key=2,2n "$1" 2>/dev/null | tail -n 1) && [[ $threads ]]; then
		facts+=(waits/seen_ns "$seen" waits/waited_ns "$waited" waits/threads "$threads")
	else
		facts+=(waits/missing "no thread of the tool was seen at work: a short load, or a kernel without schedstat")
	fi
}

# Appends the limits that the load generator really has.
limits() {
	local name
	facts+=(limits/nofile "$(ulimit -n)" limits/cpus "$(nproc)" limits/host_cpus "$(getconf _NPROCESSORS_ONLN)")
	for name in net.ipv4.ip_local_port_range net.ipv4.tcp_tw_reuse net.ipv4.tcp_max_tw_buckets; do
		keep "sysctls/$name" "${PROC_ROOT:-/proc}/sys/${name//.//}"
	done
}
