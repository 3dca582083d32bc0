#!/usr/bin/env bats
# Freezing services while their load tools end: what the load generator asks through the pipes, on cgroups that only pretend.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	ROOT=$BATS_TEST_DIRNAME/../..
	export CGROUP_ROOT=$PWD/cgroup PROC_ROOT=$PWD/proc
	mkdir run
	cat >holder <<-'SCRIPT'
		set -Eeuo pipefail
		source "$ROOT/scripts/lib/freeze.sh"
		run_dir=$PWD/run project=bench several='' docker=$PWD/docker
		at() { echo "${@:2}" >>calls && [[ $* != *two* ]]; }
		declare -gA block_pid=([one]=11 [two]=12)
		open_freezer
		for ((i = 0; i < ${1:-100}; i++)); do
			[[ ! -e stop ]] || break
			sleep 0.1
		done
		close_freezer
		wait 2>/dev/null || true
	SCRIPT
	export ROOT
}

# container NAME PID: of cgroup version 1.
v1() {
	mkdir -p "cgroup/freezer/docker/$1" "proc/$2"
	echo THAWED >"cgroup/freezer/docker/$1/freezer.state"
	echo "5:freezer:/docker/$1" >"proc/$2/cgroup"
}

# ask LINE: and prints what was told.
ask() {
	for ((i = 0; i < 50; i++)); do
		[[ ! -p run/freeze.told ]] || break
		sleep 0.1
	done
	exec {told}<>run/freeze.told
	echo "$1" >run/freeze.ask
	read -r -t 10 -u "$told" line
	exec {told}>&-
	echo "$line"
}

@test "services are frozen and thawed by their cgroups, and one that is gone is not" {
	v1 one 11
	bash holder &
	[[ $(ask 'freeze one two') == 'freeze one' ]]
	[[ $(<cgroup/freezer/docker/one/freezer.state) == FROZEN ]]
	[[ $(ask 'thaw one two') == 'thaw one' ]]
	[[ $(<cgroup/freezer/docker/one/freezer.state) == THAWED ]]
	touch stop
	wait
	[[ ! -e run/freeze.ask && ! -e run/freeze.told ]]
}

@test "nothing is left frozen when the script ends in between" {
	v1 one 11
	bash holder &
	[[ $(ask 'freeze one') == 'freeze one' ]]
	touch stop
	wait
	for ((i = 0; i < 50; i++)); do
		[[ $(<cgroup/freezer/docker/one/freezer.state) != THAWED ]] || break
		sleep 0.1
	done
	[[ $(<cgroup/freezer/docker/one/freezer.state) == THAWED ]]
}

@test "a script that is killed leaves nothing frozen either" {
	v1 one 11
	bash holder &
	holder=$!
	[[ $(ask 'freeze one') == 'freeze one' ]]
	kill -KILL "$holder"
	for ((i = 0; i < 50; i++)); do
		[[ $(<cgroup/freezer/docker/one/freezer.state) != THAWED ]] || break
		sleep 0.1
	done
	[[ $(<cgroup/freezer/docker/one/freezer.state) == THAWED ]]
}

@test "the engine pauses what this script may not freeze" {
	mkdir -p cgroup/freezer proc/11
	echo "5:freezer:/docker/one" >proc/11/cgroup
	bash holder &
	[[ $(ask 'freeze one') == 'freeze one' ]]
	[[ $(ask 'thaw one') == 'thaw one' ]]
	touch stop
	wait
	[[ $(<calls) == 'pause bench-one-1'$'\n''unpause bench-one-1' ]]
}

# thread PID TID RAN WAITED
thread() {
	mkdir -p "proc/$1/task/$2"
	echo "$3 $4 17" >"proc/$1/task/$2/schedstat"
}

@test "how long the threads of a service have run and waited for a CPU, over all of its processes" {
	v1 one 11
	thread 11 11 1000 10
	thread 11 12 2000 20
	thread 13 13 4000 40
	printf '11\n13\n14\n' >cgroup/freezer/docker/one/cgroup.procs
	bash holder &
	[[ $(ask 'threads one') == 'threads one 7000 70' ]]
	thread 13 13 4500 90
	[[ $(ask 'threads one') == 'threads one 7500 120' ]]
	[[ $(ask 'threads two') == 'threads' ]]
	touch stop
	wait
}

@test "a kernel without schedstat tells nothing" {
	v1 one 11
	echo 11 >cgroup/freezer/docker/one/cgroup.procs
	bash holder &
	[[ $(ask 'threads one') == 'threads' ]]
	touch stop
	wait
}
