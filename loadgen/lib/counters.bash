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
	facts+=("$when/proc_stat" "$text")
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

# Appends the limits that the load generator really has.
limits() {
	local name
	facts+=(limits/nofile "$(ulimit -n)")
	for name in net.ipv4.ip_local_port_range net.ipv4.tcp_tw_reuse net.ipv4.tcp_max_tw_buckets; do
		keep "sysctls/$name" "${PROC_ROOT:-/proc}/sys/${name//.//}"
	done
}
