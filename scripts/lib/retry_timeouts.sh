# shellcheck shell=bash
# A service whose answers only came too late beside others, or whose verifier was cut, is verified once more, alone. Only
# declares.

# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# set_aside NAME: what was found beside others, so that it is verified again.
set_aside() {
	local folder=$run_dir/raw/services/$1 name
	say "$1: too late, or cut; once more, alone, when the others are done"
	mkdir -p "$folder/beside"
	for name in verify.json verify.txt stop.json failure.json; do
		[[ ! -e $folder/$name ]] || mv "$folder/$name" "$folder/beside/"
	done
}

is_set_aside() { [[ -e $run_dir/raw/services/$1/beside ]]; }
