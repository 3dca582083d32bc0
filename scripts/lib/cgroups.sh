# shellcheck shell=bash
# The cgroup of a container's process, and what it counted, as text lines `key value`. Only declares.

cgroup_root=${CGROUP_ROOT:-/sys/fs/cgroup} proc_root=${PROC_ROOT:-/proc}

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
	cpuacct=$(cgroup_v1 "$1" cpuacct)
	cpu=$(cgroup_v1 "$1" cpu)
	memory=$(cgroup_v1 "$1" memory)
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

# cgroup_v2 PID: the folder of a process, the root's where the process is gone.
cgroup_v2() {
	local path
	path=$(sed -n 's/^0:://p' "$proc_root/$1/cgroup" 2>/dev/null) || path=''
	printf '%s' "$cgroup_root$path"
}

# cgroup_v1 PID CONTROLLER: the folder of a process in one of version 1's hierarchies.
cgroup_v1() {
	local path
	path=$(sed -nE "s/^[0-9]+:([^:]*,)?$2(,[^:]*)?://p" "$proc_root/$1/cgroup" 2>/dev/null) || path=''
	printf '%s' "$cgroup_root/$2${path:-/not-found}"
}

# cgroup_below_root PID: the folder of a process below the root that has the CPU counters; of one that is gone there is none
# (the root's counters are all of the host's).
cgroup_below_root() {
	local folder
	if [[ ${no_counters:-} ]]; then
		printf /not-found
	elif [[ -e $cgroup_root/cgroup.controllers ]]; then
		folder=$(cgroup_v2 "$1")
		folder=${folder#"$cgroup_root"}
		[[ ${folder%/} ]] || folder=/not-found
		printf '%s' "$folder"
	else
		folder=$(cgroup_v1 "$1" cpuacct)
		printf '%s' "${folder#"$cgroup_root/cpuacct"}"
	fi
}

# pids CGROUP: its processes, to see whether one has ended, and the CPU time of each in clock ticks: its utime and stime.
pids() {
	local list pid line fields
	{ mapfile -t list <"$1/cgroup.procs"; } 2>/dev/null || return 0
	echo "pids ${list[*]}"
	for pid in "${list[@]}"; do
		{ read -r line <"$proc_root/$pid/stat"; } 2>/dev/null || continue
		# What is behind the name, which may hold anything, begins with field 3.
		read -r -a fields <<<"${line##*) }"
		echo "ticks_$pid $((fields[11] + fields[12]))"
	done
}

value() {
	local text
	if read -r text <"$2"; then echo "$1 $text"; fi 2>/dev/null
}
