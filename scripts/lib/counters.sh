# shellcheck shell=bash
# What the kernel counted for one container, as text lines `key value`; cgroup v1 and v2. Only declares.

# shellcheck source=scripts/lib/cgroups.sh
source "${BASH_SOURCE[0]%/*}/cgroups.sh"

irq_time=unknown

# Why no cgroup of this engine's containers can be read; empty where they can.
no_counters=''

# find_counters CONTAINER PID: sets no_counters. A process of another machine, or a cgroup that the container shares with the
# engine and all others, would give figures of something else.
find_counters() {
	local folder
	no_counters=''
	folder=$(cgroup_below_root "$2") || return
	[[ $folder == *"$1"* ]] || no_counters="this engine's containers have no cgroups of their own that can be read on this machine (docs/engines.md)"
}

# counters PID: the cgroup counters of the container whose first process is PID.
counters() {
	local cgroup
	if [[ $no_counters ]]; then
		echo "null $no_counters"
	elif [[ -e $cgroup_root/cgroup.controllers ]]; then
		cgroup=$(cgroup_v2 "$1")
		counters_v2 "$cgroup"
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

boot_id() { cat "$proc_root/sys/kernel/random/boot_id"; }

online_cpus() { cat /sys/devices/system/cpu/online; }

# file_memory PID: the bytes of files that the container has in memory, which the kernel drops when it needs room; the
# first container to read an image's files has them charged to it, and the next ones have not.
file_memory() {
	local cgroup cache=total_cache shared=total_shmem
	[[ ! $no_counters ]] || return 0
	if [[ -e $cgroup_root/cgroup.controllers ]]; then
		cache=file shared=shmem
		cgroup=$(cgroup_v2 "$1")
	else
		cgroup=$(cgroup_v1 "$1" memory)
	fi
	awk -v cache="$cache" -v shared="$shared" '$1 == cache { c = $2 } $1 == shared { s = $2 } END { print "memory_file_bytes", c - s }' \
		"$cgroup/memory.stat" 2>/dev/null || true
}
