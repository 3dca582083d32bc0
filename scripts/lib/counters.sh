# shellcheck shell=bash
# What the kernel counted for one container, as text lines `key value`; cgroup v1 and v2. Only declares.

cgroup_root=${CGROUP_ROOT:-/sys/fs/cgroup} proc_root=${PROC_ROOT:-/proc} irq_time=unknown

# counters PID: the cgroup counters of the container whose first process is PID.
counters() {
	if [[ -e $cgroup_root/cgroup.controllers ]]; then
		counters_v2 "$(cgroup_v2 "$1")"
	else
		counters_v1 "$1"
	fi
	head -n1 "$proc_root/stat" | sed 's/^cpu */proc_stat_cpu /'
	echo "irq_time $irq_time"
}

# find_irq_time: sets irq_time to `apart` where the kernel keeps the time of interrupts out of its tasks' (and cgroups')
# CPU time, to `in_tasks` where not: the report needs it to tell foreign CPU time from the network's.
find_irq_time() {
	local config
	config=$({ zcat "$proc_root/config.gz" || cat "/boot/config-$(uname -r)"; } 2>/dev/null) || true
	irq_time=unknown
	[[ $config != *CONFIG_TICK_CPU_ACCOUNTING* ]] || irq_time=in_tasks
	[[ $config != *CONFIG_IRQ_TIME_ACCOUNTING=y* ]] || irq_time=apart
}

counters_v2() {
	if [[ ! -r $1/cpu.stat || ${1%/} == "$cgroup_root" ]]; then
		echo "null the container's cgroup cannot be read on this host"
		return
	fi
	echo "cgroup v2"
	awk '$1 == "usage_usec" { print "cpu_usage_ns", $2 * 1000 }
		$1 == "nr_throttled" { print }
		$1 == "throttled_usec" { print "throttled_ns", $2 * 1000 }' "$1/cpu.stat"
	value memory_peak_bytes "$1/memory.peak"
	value memory_current_bytes "$1/memory.current"
	sed -n 's/^oom_kill /&/p' "$1/memory.events" 2>/dev/null || true
	pids "$1"
}

counters_v1() {
	local cpuacct cpu memory
	cpuacct=$(cgroup_v1 "$1" cpuacct) cpu=$(cgroup_v1 "$1" cpu) memory=$(cgroup_v1 "$1" memory)
	if [[ ! -r $cpuacct/cpuacct.usage ]]; then
		echo "null the container's cgroup cannot be read on this host"
		return
	fi
	echo "cgroup v1"
	value cpu_usage_ns "$cpuacct/cpuacct.usage"
	sed -n 's/^nr_throttled /&/p; s/^throttled_time /throttled_ns /p' "$cpu/cpu.stat" 2>/dev/null || true
	value memory_peak_bytes "$memory/memory.max_usage_in_bytes"
	value memory_current_bytes "$memory/memory.usage_in_bytes"
	sed -n 's/^oom_kill /&/p' "$memory/memory.oom_control" 2>/dev/null || true
	pids "$cpuacct"
}

cgroup_v2() { printf '%s' "$cgroup_root$(sed -n 's/^0:://p' "$proc_root/$1/cgroup" 2>/dev/null)"; }

# cgroup_v1 PID CONTROLLER: the folder of a process in one of version 1's hierarchies.
cgroup_v1() {
	local path
	path=$(sed -nE "s/^[0-9]+:([^:]*,)?$2(,[^:]*)?://p" "$proc_root/$1/cgroup" 2>/dev/null)
	printf '%s' "$cgroup_root/$2${path:-/not-found}"
}

# file_memory PID: the bytes of files that the container has in memory, which the kernel drops when it needs room; the
# first container to read an image's files has them charged to it, and the next ones have not.
file_memory() {
	if [[ -e $cgroup_root/cgroup.controllers ]]; then
		awk '$1 == "file" { f = $2 } $1 == "shmem" { s = $2 } END { print "memory_file_bytes", f - s }' "$(cgroup_v2 "$1")/memory.stat"
	else
		awk '$1 == "total_cache" { f = $2 } $1 == "total_shmem" { s = $2 } END { print "memory_file_bytes", f - s }' \
			"$(cgroup_v1 "$1" memory)/memory.stat"
	fi 2>/dev/null || true
}

# pids CGROUP: its processes, so that one that ended can be told.
pids() {
	local list
	{ mapfile -t list <"$1/cgroup.procs"; } 2>/dev/null || return 0
	echo "pids ${list[*]}"
}

value() {
	local text
	if read -r text <"$2"; then echo "$1 $text"; fi 2>/dev/null
}
