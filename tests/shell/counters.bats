#!/usr/bin/env bats
# scripts/lib/counters.sh on made-up cgroups of both versions.
# shellcheck disable=SC2030,SC2031 # each test has its own

bats_require_minimum_version 1.5.0

setup() {
	CGROUP_ROOT=$BATS_TEST_TMPDIR/cgroup PROC_ROOT=$BATS_TEST_TMPDIR/proc
	mkdir -p "$PROC_ROOT/7" "$CGROUP_ROOT"
	echo 'cpu  1 2 3' >"$PROC_ROOT/stat"
	echo '7 (a (hostile) 1 2 name) S 1 7 7 0 -1 0 0 0 0 0 60 6 900 900 20 0' >"$PROC_ROOT/7/stat"
	# shellcheck source=scripts/lib/counters.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/counters.sh"
}

version_2() {
	local group=$CGROUP_ROOT/docker/x
	mkdir -p "$group"
	touch "$CGROUP_ROOT/cgroup.controllers"
	echo 0::/docker/x >"$PROC_ROOT/7/cgroup"
	printf 'usage_usec 5\nnr_throttled 3\nthrottled_usec 2\n' >"$group/cpu.stat"
	echo 900 >"$group/memory.peak"
	echo 800 >"$group/memory.current"
	printf 'oom 4\noom_kill 1\n' >"$group/memory.events"
	printf 'anon 500\nfile 300\nshmem 100\n' >"$group/memory.stat"
	printf '7\n9\n' >"$group/cgroup.procs"
}

version_1() {
	local cpu=$CGROUP_ROOT/cpu/docker/x memory=$CGROUP_ROOT/memory/docker/x cpuacct=$CGROUP_ROOT/cpuacct/docker/x
	mkdir -p "$cpu" "$memory" "$cpuacct"
	printf '4:memory:/docker/x\n2:cpuacct:/docker/x\n1:cpu:/docker/x\n' >"$PROC_ROOT/7/cgroup"
	echo 5000 >"$cpuacct/cpuacct.usage"
	printf '7\n9\n' >"$cpuacct/cgroup.procs"
	printf 'nr_throttled 3\nthrottled_time 2000\n' >"$cpu/cpu.stat"
	echo 900 >"$memory/memory.max_usage_in_bytes"
	echo 800 >"$memory/memory.usage_in_bytes"
	printf 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n' >"$memory/memory.oom_control"
	printf 'cache 1\nshmem 1\ntotal_cache 300\ntotal_shmem 100\n' >"$memory/memory.stat"
}

same='cpu_usage_ns 5000
nr_throttled 3
throttled_ns 2000
memory_peak_bytes 900
memory_current_bytes 800
oom_kill 1
pids 7 9
ticks_7 66
proc_stat_cpu 1 2 3
irq_time unknown'

@test "both versions tell the same" {
	version_1
	[[ $(counters 7) == "cgroup v1"$'\n'"$same" ]]
	[[ $(file_memory 7) == 'memory_file_bytes 200' ]]
	version_2
	[[ $(counters 7) == "cgroup v2"$'\n'"$same" ]]
	[[ $(file_memory 7) == 'memory_file_bytes 200' ]]
}

@test "a container that is gone has no counters, and the reason" {
	version_1
	[[ $(counters 8) == "null the container's cgroup cannot be read on this host"* ]]
	[[ -z $(file_memory 8) ]]
	version_2
	[[ $(counters 8) == "null the container's cgroup cannot be read on this host"* ]]
	# The root's cgroup is all of the host's, and no container's.
	mkdir "$PROC_ROOT/8" && echo 0::/ >"$PROC_ROOT/8/cgroup" && touch "$CGROUP_ROOT/cpu.stat"
	[[ $(counters 8) == "null "* ]]
}

@test "whether tasks have the time of interrupts in theirs is what the kernel was built with" {
	uname() { echo no-such-kernel; }
	find_irq_time && [[ $irq_time == unknown ]]
	gzip >"$PROC_ROOT/config.gz" <<-'EOF'
		CONFIG_TICK_CPU_ACCOUNTING=y
		# CONFIG_IRQ_TIME_ACCOUNTING is not set
	EOF
	find_irq_time && [[ $irq_time == in_tasks ]]
	gzip >"$PROC_ROOT/config.gz" <<<'CONFIG_TICK_CPU_ACCOUNTING=y
CONFIG_IRQ_TIME_ACCOUNTING=y'
	find_irq_time && [[ $irq_time == apart ]]
	[[ $(counters 8) == *$'\nirq_time apart' ]]
}
