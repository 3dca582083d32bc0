# shellcheck shell=bash
# A user's own app before its run is planned: options, and checks that need no image. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/own_lock.sh
source "${BASH_SOURCE[0]%/*}/own_lock.sh"

# The options as they were given; --app takes two values.
declare -gA own=()
own_options='--interface --requirements --targets --expect --env-file --before --compose --head'

# own_option WORD...: takes one of the options from the front of the command line; sets `taken` to how many words it is.
# shellcheck disable=SC2034 # matrix.sh uses it
own_option() {
	taken=0
	if [[ $1 == --app ]]; then
		[[ ${2:-} && ${3:-} && $3 != -* ]] || fail 2 "--app needs a folder and MODULE:CALLABLE, such as --app ./shop main:app"
		own[folder]=$2 own[app]=$3 taken=3
	elif [[ " $own_options " == *" $1 "* ]]; then
		(($# > 1)) || fail 2 "$1 needs a value; see --help"
		own[${1#--}]=$2 taken=2
	fi
}

# prepare_own_app SELECTION...: describes the app, and where two refs of it are compared (compare.sh) the other one, too.
prepare_own_app() {
	[[ ${own[app]:-} ]] || fail 2 "--${!own[*]} is for one's own app: give --app FOLDER MODULE:CALLABLE too"
	describe_own_app own-app "$@"
	[[ ${own[head]:-} ]] || return 0
	own[folder]=${own[head]}
	describe_own_app own-head "$@"
}

# describe_own_app OPTION SELECTION...: the app in a folder of its own, with the lock of each Python; adds it to `selection`.
describe_own_app() {
	local name mounts=() arguments=() pythons option=$1
	shift
	[[ -d ${own[folder]} ]] || fail 2 "--app: there is no folder '${own[folder]}'"
	own[folder]=$(realpath "${own[folder]}")
	arguments=(--folder "${own[folder]}" --app "${own[app]}" --source /own/source)
	mount "${own[folder]}" /own/source
	[[ ! ${own[interface]:-} ]] || arguments+=(--interface "${own[interface]}")
	[[ ! ${own[before]:-} ]] || arguments+=(--before "${own[before]}")
	for name in requirements targets expect env-file; do own_file "$name"; done
	[[ ! ${own[compose]:-} ]] || [[ -f ${own[compose]} ]] || fail 2 "--compose: there is no file '${own[compose]}'"
	[[ " $* " != *' --target '* ]] || in_tools python3 -m bench target-check "$@"
	own_folder=$(mktemp -d -p "$root/results" .app-XXXXXX)
	own_folders+=("$own_folder")
	trap 'rm -rf "${own_folders[@]}"' EXIT
	[[ ! ${own[compose]:-} ]] || resolve_compose
	tool_options=("${mounts[@]}")
	while (($#)); do
		[[ $1 != --python ]] || arguments+=(--python "${2:-}")
		shift
	done
	pythons=$(in_tools python3 -m bench own-app "results/${own_folder##*/}" "${arguments[@]}")
	lock_own_app "$pythons"
	selection+=("--$option=results/${own_folder##*/}")
}
own_folders=()

# own_file NAME: adds a file that was given to `mounts`, with all of its folder: it may name others beside it.
own_file() {
	local file=${own[$1]:-}
	[[ $file ]] || return 0
	[[ -f $file ]] || fail 2 "--$1: there is no file '$file'"
	file=$(realpath "$file")
	mount "${file%/*}" "/own/$1"
	arguments+=("--$1" "$file" "--$1-here" "/own/$1/${file##*/}")
}

# resolve_compose: the user's Compose file as Compose understands it, for Python to check.
resolve_compose() {
	local file words here=results/${own_folder##*/} links
	file=$(realpath "${own[compose]}")
	"$docker" compose --project-directory "${file%/*}" --file "$file" config --format json >"$own_folder/compose.json" 2>"$own_folder/compose.log" || {
		words=$(tail -n1 "$own_folder/compose.log")
		fail 2 "--compose: $words"
	}
	links=$(find "${file%/*}" -type l -not -path '*/.venv/*' -not -path '*/node_modules/*' 2>/dev/null | head -n 1000) || true
	arguments+=(--compose "$file" --compose-resolved "$here/compose.json" --compose-links "$links")
}

# mount FOLDER PLACE: read-only; the form that takes any name.
mount() { mounts+=(--mount "type=bind,\"source=${1//\"/\"\"}\",target=$2,readonly"); }
