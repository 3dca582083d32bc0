# shellcheck shell=bash
# A run that is repeated (--again): its options, and the base images that are here now. Only declares.

# shellcheck source=scripts/lib/own_app.sh
source "${BASH_SOURCE[0]%/*}/own_app.sh"
# shellcheck source=scripts/lib/packages.sh
source "${BASH_SOURCE[0]%/*}/packages.sh"

# repeat_run RUN SELECTION...: sets `selection` and, of a user's own app, `own` to what they were, but for what is given.
repeat_run() {
	local text own_words=() was_own='' again_bases=() name
	local -A given=()
	[[ ! -d $root/results/$1/refs ]] || fail 2 "$1 is of two refs: scripts/compare.sh measures them again"
	text=$(in_tools python3 -m bench again "$@")
	# shellcheck source=/dev/null
	source /dev/stdin <<<"$text"
	for name in "${!own[@]}"; do given[$name]=${own[$name]}; done
	while ((${#own_words[@]})); do
		own_option "${own_words[@]}"
		((taken)) || fail 2 "$1: '${own_words[0]}' is no option for one's own app any more"
		own_words=("${own_words[@]:taken}")
	done
	for name in "${!given[@]}"; do own[$name]=${given[$name]}; done
	[[ ! $was_own || ${own[app]:-} ]] || fail 2 "$1 was planned before the options for one's own app were kept: give --app FOLDER $was_own and the others again"
	look_at_bases "${again_bases[@]}"
	# What is built from a source is looked for where it was, or where a new --package says.
	packages=()
	set -- "${selection[@]}"
	while (($#)); do package_option "$@" && shift; done
}
# The folder of the run, below the project's.
again_folder=''

# look_at_bases NAME...: sets `bases_here` to NAME=LAYER,LAYER for each that is here.
look_at_bases() {
	local name layers
	for name; do
		layers=$("$docker" image inspect --format '{{join .RootFS.Layers ","}}' "$name" 2>/dev/null) || continue
		bases_here+="$name=$layers "
	done
}
bases_here=''
