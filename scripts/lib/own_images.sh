# shellcheck shell=bash
# The images of this project, by kind, and their removal. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

# Lines of REFERENCE and SIZE (what no other image shares, in Docker's units) of the images to be removed; kept: ours, but not
# asked for; resumable: what an interrupted run goes on with; other: not ours, as far as labels tell.
declare -gA images=([replaced]='' [service]='' [harness]='' [base]='' [kept]='' [resumable]='' [other]='')

# find_images DAYS: sets `images`; those of services that were built less than DAYS days ago are kept.
find_images() {
	local list id reference size made kind before format=$'{{range .Images}}{{.ID}} {{.Repository}}:{{.Tag}} {{.UniqueSize}} {{.CreatedAt}}\n{{end}}'
	local -A labels=() resumable=()
	add_label image bench.image
	add_label source bench.source
	add_label base bench.base.made
	add_label built bench.base.made com.docker.compose.project=bench
	add_label composed com.docker.compose.project
	list=$(resumable_images)
	while read -r id; do [[ ! $id ]] || resumable[$id]=1; done <<<"$list"
	before=$(date --date="$1 days ago" '+%F %T')
	list=$("$docker" system df --verbose --format "$format") || return
	while read -r id reference size made; do
		[[ $id ]] || continue
		find_kind "$reference" " ${labels[$id]:-} "
		if [[ ${resumable[$id]:-} && $kind =~ ^(service|replaced)$ ]]; then
			kind=resumable
		elif [[ $kind == service && ${made:0:19} > $before ]]; then
			kind=kept
		fi
		[[ $reference != '<none>:<none>' ]] || reference=$id
		images[$kind]+="$reference $size"$'\n'
	done <<<"$list"
}

# add_label WORD LABEL...: WORD to the `labels` of each image with all of these.
add_label() {
	local list id word=$1
	shift
	list=$("$docker" image ls --all --quiet --no-trunc "${@/#/--filter=label=}") || return
	while read -r id; do [[ ! $id ]] || labels[$id]+="$word "; done <<<"$list"
}

# find_kind REFERENCE LABELS: sets `kind`. Labels are inherited from a base image, so that a name has to be ours too; what has no
# name is ours if it was built with our label, or on a local base for the project bench.
find_kind() {
	kind=other
	case $1 in
	'<none>:<none>') [[ ! $2 =~ \ (image|source|built)\  ]] || kind=replaced ;;
	bench/loadgen:* | bench/postgres:* | bench/upstream:* | bench/tests:*) [[ $2 != *' source '* ]] || kind=harness ;;
	bench/* | harness-cost/*) [[ ! $2 =~ \ (image|built)\  ]] || kind=service ;;
	bench-debian:* | bench-python:* | bench-pypy:*) [[ $2 != *' base '* ]] || kind=base ;;
	bench-????????-??????-*-own-*) [[ $2 != *' composed '* ]] || kind=service ;;
	esac
}

# resumable_images: the ids with which runs began that have no report yet.
resumable_images() {
	local folder
	for folder in "$root"/results/*/raw/services; do
		[[ -e ${folder%/raw/services}/report.md ]] || cat "$folder"/*/image.id 2>/dev/null || true
	done
}

print_images() {
	local size
	count_images 'images that a newer build has replaced' replaced
	count_images 'images of services' service
	[[ ! ${images[base]}${images[harness]} ]] || count_images "base images and the harness's" base harness
	count_images 'kept: images of ours that were not asked for' kept
	count_images 'kept: images that an interrupted run goes on with' resumable
	count_images 'not ours: images without our labels (or built before there were any)' other
	size=$("$docker" system df --format '{{.Type}} {{.Size}}' | sed -n 's/^Build Cache //p') || return
	echo "build cache of this engine: $size beside the layers of images, which it keeps when these are removed"
}

count_images() {
	local words=$1 name list=''
	shift
	for name; do list+=${images[$name]}; done
	awk -v words="$words" '
		BEGIN { unit["kB"] = 1e3; unit["MB"] = 1e6; unit["GB"] = 1e9; unit["TB"] = 1e12; unit["B"] = 1 }
		NF && $2 !~ /^[0-9.]+[kMGT]?B$/ { unknown = 1 }
		NF { match($2, /[a-zA-Z]+$/); bytes += substr($2, 1, RSTART - 1) * unit[substr($2, RSTART)]; ++n }
		END {
			printf "%s: %d", words, n
			if (unknown) printf ", of unknown size"
			else if (n) printf ", %.1f MB that no other image shares", bytes / 1e6
			print ""
		}' <<<"$list"
}

# remove_images: by name where they have one, which leaves another's name of the same image. One in use stays, and is said.
remove_images() {
	local list
	list=${images[replaced]}${images[service]}${images[harness]}${images[base]}
	[[ $list ]] || return 0
	awk 'NF { print $1 }' <<<"$list" | xargs -n 50 "$docker" image rm 2>&1 >/dev/null | grep -v '^$' || true
}
