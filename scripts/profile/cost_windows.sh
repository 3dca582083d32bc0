# shellcheck shell=bash
# Rounds of windows of CPU time for scripts/profile.sh --table: services under load, and their apps in process. Only declares.

# shellcheck source=scripts/profile/profiled.sh
source "${BASH_SOURCE[0]%/*}/profiled.sh"

saved=$profiles/table
# What each service's app can be called as, and which paths of which service have been loaded before.
declare -gA interface warm

# counters PID: of its container.
counters() { PYTHONPATH=$root python3 -m driver.counters "$1"; }

# load SERVICE PID PATH OUT: a second that counts.
load() {
	counters "$2" >"$4.before"
	in_loadgen wrk -t 1 -c 16 -d 1s "http://$1:8080$3" >"$4.wrk" || fail 1 "wrk failed; $4.wrk has its output"
	counters "$2" >"$4.after"
}

# warm_up SERVICE PATH: a moment, so that connections to the database are open; wrk takes whole seconds.
warm_up() {
	[[ ! ${warm[$1$2]:-} ]] || return 0
	in_loadgen timeout 0.3 wrk -t 1 -c 16 -d 1s "http://$1:8080$2" >/dev/null || (($? == 124))
	warm[$1$2]=1
}

# under_server ROUND SERVICE...: every path of each.
under_server() {
	local name path out pid
	for path in "${paths[@]}"; do
		out=${path#/}
		for name in "${@:2}"; do
			pid=$(first_pid "$name")
			warm_up "$name" "$path"
			load "$name" "$pid" "$path" "$saved/$name/${out//\//-}.$1"
		done
	done
}

# in_process ROUND SERVICE...: those whose app can be called.
in_process() {
	local name out
	for name in "${@:2}"; do
		[[ ${interface[$name]} == [aw]sgi ]] || continue
		out=$saved/$name/$1.in-process
		"$docker" exec --interactive "$project-$name-1" python3 - "${interface[$name]}" 0.1 "${paths[@]}" \
			<"$root/scripts/profile/in_process.py" >"$out.part" 2>"$out.log" || fail 1 "$name cannot be called in process; see $out.log"
		mv "$out.part" "$out"
	done
}
