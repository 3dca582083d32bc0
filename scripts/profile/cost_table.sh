# shellcheck shell=bash
# What frameworks cost, for scripts/profile.sh --table: the rounds of each server, and the tables. Only declares; the script
# sets the names below and `paths`.

# shellcheck source=scripts/profile/cost_windows.sh
source "${BASH_SOURCE[0]%/*}/cost_windows.sh"

python='' rounds='' more='' servers=() tables=()

# next_round SERVICE TABLE: the first one that the table does not have.
next_round() {
	local file number highest=0 end=wrk
	[[ $2 == under_server ]] || end=in-process
	for file in "$saved/$1"/*."$end"; do
		[[ -e $file ]] || continue
		number=${file%."$end"} number=${number##*[./]}
		((number <= highest)) || highest=$number
	done
	echo $((highest + 1))
}

# cost SERVICE=INTERFACE...: all rounds of a group, whose services are up together.
cost() {
	local names=("${@%%=*}") word first round table
	for word; do interface[${word%%=*}]=${word#*=}; done
	mkdir -p "${names[@]/#/$saved/}"
	start_services "${names[@]}"
	for table in "${tables[@]}"; do
		first=$(next_round "${names[0]}" "$table")
		for ((round = first; round < first + rounds; round++)); do "$table" "$round" "${names[@]}"; done
	done
	stop_services
}

cost_table() {
	local printed lines line group
	printed=$(in_tools python3 -m bench profile-services "$python" "${servers[@]}") || exit $?
	[[ $more ]] || rm -rf "$saved"
	# All of a server's services together must leave the database connections for the verifier.
	export DB_POOL_TOTAL=4
	mapfile -t lines <<<"$printed"
	# Not as the input of a loop, which the containers' commands would read.
	for line in "${lines[@]}"; do
		read -ra group <<<"$line"
		cost "${group[@]}"
	done
	in_tools python3 -m bench profile-table results/profiles/table "${paths[@]}"
}
