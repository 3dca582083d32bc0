# shellcheck shell=bash
# What the kernel counted for one container, as text lines `key value`; cgroup v1 and v2. Only declares.

cgroup_root=${CGROUP_ROOT:-/sys/fs/cgroup}

# counters PID: the cgroup counters of the container whose first process is PID.
counters() {
	if [[ -e $cgroup_root/cgroup.controllers ]]; then
		counters_v2 "$cgroup_root$(sed -n 's/^0:://p' "/proc/$1/cgroup" 2>/dev/null)"
	else
		counters_v1 "$1"
	fi
	head -n1 /proc/stat | sed 's/^cpu */proc_stat_cpu /'
}

counters_v2() {
	if [[ ! -r $1/cpu.stat || $1 == "$cgroup_root" ]]; then
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
}

# cgroup_v1 PID CONTROLLER: the folder of a process in one of version 1's hierarchies.
cgroup_v1() {
	local path
	path=$(sed -nE "s/^[0-9]+:([^:]*,)?$2(,[^:]*)?://p" "/proc/$1/cgroup" 2>/dev/null)
	printf '%s' "$cgroup_root/$2${path:-/not-found}"
}

value() {
	local text
	if read -r text <"$2"; then echo "$1 $text"; fi 2>/dev/null
}
