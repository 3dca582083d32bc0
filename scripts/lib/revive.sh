# shellcheck shell=bash
# What all services need while a run goes on (database, upstream, load generator): when one ends by itself, that is found, it is
# started again, and what it spoiled is done again. Only declares; needs containers.sh.

# shellcheck source=scripts/lib/dependencies.sh
source "${BASH_SOURCE[0]%/*}/dependencies.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# revive_dependencies: those that have ended, the database with its first rows. Sets `revived`.
revive_dependencies() {
	find_ended
	revived=("${ended[@]}")
	((${#revived[@]})) || return 0
	warn "${revived[*]} ended while the run went on: started again"
	start_dependencies
}

# note_ended: by this, Python has the step measured again. Adds to `facts`.
note_ended() {
	find_ended
	((${#ended[@]} == 0)) || facts+=("ended_dependencies=${ended[*]}")
}

# revive_and_ask_again NAME...: where a dependency has ended, of these services those that failed are to be verified again.
revive_and_ask_again() {
	local name
	revive_dependencies
	((${#revived[@]})) || return 0
	for name; do [[ ! -e $run_dir/raw/services/$name/failure.json ]] || set_aside "$name"; done
}
