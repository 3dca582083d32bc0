# shellcheck shell=bash
# What the kernel counts about the load generator: raw text that the parser of records reads.

# What tool.json will hold besides the command: path, value, path, value, ...; the steps of a path are separated by "/".
declare -a FACTS=()

# snapshot NAME: adds this moment's counters under NAME. One that cannot be read is left out, and the reason is under
# NAME/missing.
snapshot() {
	local when=$1 root=${CGROUP_ROOT:-/sys/fs/cgroup} proc=${PROC_ROOT:-/proc} file text own
	local files=(cpuacct/cpuacct.usage cpu/cpu.stat memory/memory.max_usage_in_bytes memory/memory.usage_in_bytes)
	[[ ! -e $root/cgroup.controllers ]] || files=(cpu.stat cpu.pressure memory.peak memory.current)
	for file in "${files[@]}"; do
		add_file "$when/loadgen/${file##*/}" "$root/$file"
	done
	add_file "$when/pressure_cpu" "$proc/pressure/cpu"
	read -r text <"$proc/stat"
	own=$(own_cpus)
	FACTS+=("$when/proc_stat" "$text" "$when/proc_stat_own" "$own")
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

# add_file PATH FILE: adds the text of a file, or why there is none.
add_file() {
	local path=$1 file=$2 text
	if { IFS= read -r -d '' text <"$file" || [[ -n ${text-} ]]; } 2>/dev/null; then
		FACTS+=("$path" "${text%$'\n'}")
	else
		FACTS+=("${path%%/*}/missing/${path#*/}" "cannot read $file")
	fi
}

# Adds the limits that the load generator really has.
add_limits() {
	local name
	FACTS+=(limits/nofile "$(ulimit -n)" limits/cpus "$(nproc)" limits/host_cpus "$(getconf _NPROCESSORS_ONLN)")
	for name in net.ipv4.ip_local_port_range net.ipv4.tcp_tw_reuse net.ipv4.tcp_max_tw_buckets; do
		add_file "sysctls/$name" "${PROC_ROOT:-/proc}/sys/${name//.//}"
	done
}
