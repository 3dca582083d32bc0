# shellcheck shell=bash
# What all services need while a run goes on (database, upstream, load generator): when one ends by itself, that is found, it is
# started again, and what it spoiled is done again. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/dependencies.sh
source "${BASH_SOURCE[0]%/*}/dependencies.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# revive_dependencies: those that have ended, the database with its first rows.
revive_dependencies() {
	find_ended
	((${#ended[@]})) || return 0
	warn "${ended[*]} ended while the run went on: started again"
	start_dependencies
}

# note_ended: by this, Python has the step measured again. Adds to `facts`.
note_ended() {
	find_ended
	((${#ended[@]} == 0)) || facts+=("ended_dependencies=${ended[*]}")
}

# set_ended_aside NAME...: services that failed while a dependency ended are to be verified again; false where none ended.
set_ended_aside() {
	local name
	find_ended
	((${#ended[@]})) || return
	for name; do [[ ! -e $run_dir/raw/services/$name/failure.json ]] || set_aside "$name"; done
	revive_dependencies
}
