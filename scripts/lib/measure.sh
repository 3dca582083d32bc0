# shellcheck shell=bash
# One measurement after the other, whoever starts the containers. Only declares; needs what verify.sh needs.

# shellcheck source=scripts/lib/duet.sh
source "${BASH_SOURCE[0]%/*}/duet.sh"
# shellcheck source=scripts/lib/progress.sh
source "${BASH_SOURCE[0]%/*}/progress.sh"

# measure_all: every step that has no complete record yet. Steps are asked for anew after each round: pairs that
# have their verdict by then are done.
measure_all() {
	local steps
	declare -gA tried=()
	began=$SECONDS spent_s=0 done_steps=0
	while steps=$(report steps "$run") && steps=$(untried <<<"$steps") && [[ $steps ]] && measure_round "$steps"; do :; done
	end_line
}

# untried: the steps that this script has not tried yet; one that failed has its record too.
untried() {
	local line
	while IFS= read -r line; do [[ -z $line || -n ${tried[${line%%$'\t'*}]:-} ]] || printf '%s\n' "$line"; done
}

# measure_round STEPS: those of the first round there; fails when the time is up.
measure_round() {
	local id names dir seconds label count left=0 round=''
	count=$((done_steps + $(grep -c . <<<"$1")))
	while IFS=$'\t' read -r id names dir seconds label; do ((left += seconds)) || true; done <<<"$1"
	while IFS=$'\t' read -r -u 3 id names dir seconds label; do
		[[ ${round:=${id%-*}} == "${id%-*}" ]] || return 0
		if ((${MAX_TIME_S:-0} && SECONDS >= ${MAX_TIME_S:-0})); then
			warn "the time is up (--max-time): what is open is in the report; --resume $run goes on"
			return 1
		fi
		tried[$id]=1 outcome='not loaded'
		step_begins "$done_steps" "$count" "$left" "$spent_s" "$label"
		can_load "$names" && if [[ $names == *,* ]]; then
			measure_pair "$id" "${names%,*}" "${names#*,}" "$run_dir/$dir"
		else
			measure_one "$id" "$names" "$run_dir/$dir"
		fi
		((done_steps += 1, spent_s += seconds, left -= seconds)) || true
		step_ends "$done_steps" "$count" "$left" "$spent_s" "$label" "$id"
	done 3<<<"$1"
}

# can_load NAMES: whether all of them (with commas) have passed so far.
can_load() {
	local name names
	IFS=, read -r -a names <<<"$1"
	for name in "${names[@]}"; do [[ ! -e $run_dir/raw/services/$name/failure.json ]] || return 1; done
}
