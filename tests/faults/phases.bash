# shellcheck shell=bash
# Finds the phase of a run from the files in its folder: plan, build, up, verify, load, write, report. Only declares; the caller sets
# `root` and `began` (ns).
# shellcheck disable=SC2154

# run_of LOG: prints the run's folder once its script has printed it; before that, the newest folder, if it is newer than this script
# (an older one may be of the previous moment, whose script was killed).
run_of() {
	local found
	found=$(sed -n '/^results\/2[^ ]*$/{p;q}' "$1")
	if [[ ! $found ]]; then
		found=$(cd "$root" && compgen -G 'results/2*' | tail -n1) || true
		[[ $root/$found -nt $1.begun ]] || found=''
	fi
	[[ ! $found ]] || echo "$root/${found%/}"
}

# find_phase: sets `phase`; `folder` is the run's folder, empty while there is none.
find_phase() {
	if [[ ! $folder || ! -e $folder/run.json ]]; then
		phase=plan
	elif [[ -e $folder/loop.json ]]; then
		phase=load
		[[ ! -e $folder/finished.json ]] || phase='write'
	elif [[ ! -e $folder/start.log || ($folder/start.log -ot $begun) ]]; then
		phase=build
	elif [[ $phase == load || $phase == write || $phase == report ]]; then
		phase=report
	elif ! compgen -G "$folder/raw/services/*/start.log" >/dev/null; then
		phase=up
	else
		phase=verify
	fi
}
phase='' folder='' begun=''

# each_phase LOG PID COMMAND...: polls every 20 ms while the process exists, and calls the command at every change of phase. Stops
# when the command succeeds, and then sets `came`.
each_phase() {
	local before=''
	phase='' folder='' begun=$1.begun came=''
	while kill -0 "$2" 2>/dev/null; do
		[[ $folder && -e $folder/run.json ]] || folder=$(run_of "$1")
		find_phase
		if [[ $phase != "$before" ]]; then
			before=$phase
			! "${@:3}" || { came=yes && return; }
		fi
		sleep 0.02
	done
}
came=''

# follow_phases LOG PID: prints `PHASE MS` for each phase, with the time since the run began.
follow_phases() {
	each_phase "$1" "$2" print_phase
	phase=end
	print_phase || true
}

print_phase() {
	printf '%s %d\n' "$phase" $(($(date +%s%N) / 1000000 - began / 1000000))
	return 1
}

# await_phase LOG PID PHASE ENTRY MS: waits until MS after PHASE has begun for the ENTRYth time, or until the run has ended.
await_phase() {
	local entries=$4
	each_phase "$1" "$2" enters "$3"
	[[ $came ]] || return 0
	sleep "$(printf '%d.%03d' $(($5 / 1000)) $(($5 % 1000)))"
	find_phase
}

enters() { [[ $phase == "$1" ]] && ((--entries == 0)); }
