# shellcheck shell=bash
# Freezes the services of a block while their load tools end, so that no response from after their turns is counted, and says how
# long their threads waited for a CPU (bench/load/freezer.py asks for both). Only declares; many.sh sets block_pid.

# shellcheck source=scripts/lib/cgroups.sh
source "${BASH_SOURCE[0]%/*}/cgroups.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"
# shellcheck source=scripts/lib/target.sh
source "${BASH_SOURCE[0]%/*}/target.sh"

# open_freezer: the load generator may ask for it from now on, through two pipes in the run's folder. Not on several machines,
# which share no pipes.
open_freezer() {
	[[ ! $several ]] || return 0
	close_freezer
	mkfifo -m 666 "$run_dir/freeze.ask" "$run_dir/freeze.told"
	in_background serve_freezer
	freezer=$child
}
freezer=''

close_freezer() {
	[[ ! $freezer ]] || kill -- "-$freezer" 2>/dev/null || true
	freezer=''
	rm -f "$run_dir/freeze.ask" "$run_dir/freeze.told"
}

# serve_freezer: does what is asked until the script ends, and leaves nothing frozen.
serve_freezer() {
	local verb names done_for name ask told
	trap 'exit 0' TERM
	trap thaw_all EXIT
	exec {ask}<>"$run_dir/freeze.ask" {told}<>"$run_dir/freeze.told"
	while kill -0 "$$" 2>/dev/null; do
		read -r -t 1 -u "$ask" verb names || continue
		done_for=$verb
		for name in $names; do
			case $verb in
			freeze) if freeze "$name"; then frozen[$name]=yes && done_for+=" $name"; fi ;;
			thaw) if thaw "$name"; then unset "frozen[$name]" && done_for+=" $name"; fi ;;
			threads) if read_threads "$name"; then done_for+=" $name $ran_ns $waited_ns"; fi ;;
			esac
		done
		printf '%s\n' "$done_for" >&"$told"
	done
}

declare -gA frozen=()

thaw_all() {
	local name
	for name in "${!frozen[@]}"; do thaw "$name" || true; done
}

# freeze NAME, thaw NAME: fails where it cannot be done. The kernel does it in a millisecond where this script may write to the
# container's cgroup; the engine takes a tenth of a second.
freeze() {
	local file
	! is_target "$1" || return 1
	file=$(freezer_file "$1") || return 1
	if [[ -w $file ]]; then set_freezer "$file" 1; else at server pause "$project-$1-1" >/dev/null 2>&1; fi
}

thaw() {
	local file
	file=$(freezer_file "$1") || return 1
	if [[ -w $file ]]; then set_freezer "$file" 0; else at server unpause "$project-$1-1" >/dev/null 2>&1; fi
}

# read_threads NAME: sets ran_ns and waited_ns, over all threads of its container: on a CPU, and ready to run without one (the
# first two fields of schedstat). Asked around each turn, hence without a process of its own. Fails where the kernel has no schedstat.
read_threads() {
	local pid list=() thread ran waited known=''
	ran_ns=0 waited_ns=0
	[[ ${procs_file[$1]:-} ]] || procs_file[$1]=$(cgroup_procs "$1") || return 1
	{ mapfile -t list <"${procs_file[$1]}"; } 2>/dev/null || return 1
	for pid in "${list[@]}"; do
		for thread in "$proc_root/$pid/task"/*/schedstat; do
			{ read -r ran waited _ <"$thread"; } 2>/dev/null || continue
			known=yes ran_ns=$((ran_ns + ran)) waited_ns=$((waited_ns + waited))
		done
	done
	[[ $known ]]
}
declare -gA procs_file=()
ran_ns=0 waited_ns=0

# cgroup_procs NAME: the file with its container's processes; fails without a cgroup of its own.
cgroup_procs() {
	local folder
	! is_target "$1" || return 1
	folder=$(freezer_file "$1") || return 1
	printf '%s/cgroup.procs' "${folder%/*}"
}

# freezer_file NAME: that of its container's cgroup; fails without a cgroup of its own.
freezer_file() {
	local folder pid=${block_pid[$1]:-0}
	((pid > 0)) || return 1
	if [[ -d $cgroup_root/freezer ]]; then
		folder=$(cgroup_v1 "$pid" freezer)
		[[ ${folder%/} != "$cgroup_root/freezer" ]] || return 1
		printf '%s/freezer.state' "$folder"
	else
		folder=$(cgroup_v2 "$pid")
		[[ ${folder%/} != "$cgroup_root" ]] || return 1
		printf '%s/cgroup.freeze' "$folder"
	fi
}

# set_freezer FILE 1|0: and waits until all processes are frozen (or are not any more).
set_freezer() {
	local tries line words=(THAWED FROZEN)
	[[ $1 == */freezer.state ]] || words=(0 1)
	{ printf '%s\n' "${words[$2]}" >"$1"; } 2>/dev/null || return 1
	for ((tries = 0; tries < 500; tries++)); do
		if [[ $1 == */freezer.state ]]; then
			[[ $(<"$1") != "${words[$2]}" ]] || return 0
		else
			while read -r line; do [[ $line != "frozen $2" ]] || return 0; done <"${1%freeze}events"
		fi
		sleep 0.001
	done
	return 1
}
