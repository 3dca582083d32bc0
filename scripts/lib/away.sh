# shellcheck shell=bash
# The load generator on another machine: the project and the run's inputs go there, raw files come home, by Docker's own exec.
# Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# Which container is meant, and the role of its machine: one of several load generators has another.
far=loadgen far_role=loadgen

# fill_volumes ROLE: the run's volumes on that machine: the project, what the load generator writes, the database's password.
fill_volumes() {
	local part mounts=()
	for part in source results secrets; do
		at "$1" volume create --label "com.docker.compose.project=$project" "$project-$part" >/dev/null || return
		mounts+=(--volume "$project-$part:/to/$part:nocopy")
	done
	tar --create --directory "$root" --exclude=__pycache__ bench loadgen scripts services postgres/password .env |
		at "$1" run --rm --interactive --network none "${confined[@]}" --memory 256m --user 0:0 "${mounts[@]}" bench/loadgen sh -c '
			tar --extract --no-same-owner --directory /to/source && mkdir -p /to/source/results && chmod 1777 /to/results &&
				cp /to/source/postgres/password /to/secrets/database_password && chmod -R a+rX /to/source /to/secrets'
}

# in_far_loadgen_container COMMAND...: in the load generator. One that works in a folder of the run finds its inputs there, and what it
# has written is here when it ends, whatever its status.
in_far_loadgen_container() {
	local folder='' status=0 far=$far far_role=$far_role
	case "$*" in
	*'bench verify --service '*)
		[[ $several != contexts ]] || far=checker far_role=server
		folder=$(sed -n 's/.* --service \([^ ]*\) .*/raw\/services\/\1/p' <<<"$*")
		;;
	*"results/$run"*) folder=$STEP_DIR ;;
	esac
	[[ ! $folder ]] || send_inputs "$folder" || return
	at "$far_role" exec "$project-$far-1" "$@" || status=$?
	[[ ! $folder ]] || bring_home "$folder" || return
	return "$status"
}

# send_inputs FOLDER: to `far`: plan and step; in FOLDER, which begins empty, what later verbs read of earlier ones, and what this side has said. Names of windows
# that were measured again go along, as they count.
send_inputs() {
	# shellcheck disable=SC2016 # for the shell there
	list_inputs "$1" | at "$far_role" exec --interactive "$project-$far-1" sh -c '
		mkdir -p "results/$0" && cd "results/$0" && rm -rf "$1" && tar --extract --touch --no-same-owner && touch "$1/.sent"' "$run" "$1"
}

# list_inputs FOLDER: them as an archive.
list_inputs() {
	local file files=() knees=()
	(
		cd "$run_dir" || exit
		# A search for a knee may have been made on another pair of nodes.
		[[ ! $STEP_KNEE ]] || knees=(raw/r*/*/*/*/knee.json)
		for file in run.json plan.jsonl "$lane"{step.jsonl,step.json,containers.tsv} addresses.tsv "${knees[@]}" "$1"/services/*.{status,txt} "$1"/knee.json; do
			[[ ! -e $file ]] || files+=("$file")
		done
		mkdir -p "$1" || exit
		mapfile -t -O "${#files[@]}" files < <(find raw -type d -name '*.spoiled-*')
		tar --create --no-recursion --transform "s|^$lane||" "$1" "${files[@]}"
	)
}

# bring_home FOLDER: what was written since send_inputs, whole or not at all: each file has the sha256 that it has there.
bring_home() {
	local incoming status=0
	incoming=$(mktemp -d "$run_dir/.incoming-XXXXXX") || return
	# shellcheck disable=SC2016 # for the shell there
	at "$far_role" exec "$project-$far-1" bash -c 'set -e -o pipefail; cd "results/$0"
		find "$1" -type f -newer "$1/.sent" ! -name .sent -print0 | sort -z >/tmp/files-$$
		xargs -0 -r sha256sum </tmp/files-$$ >.sums-$$
		tar --create --transform "s|^\.sums-.*|SHA256SUMS|" --null --files-from /tmp/files-$$ .sums-$$
		rm /tmp/files-$$ .sums-$$' "$run" "$1" | tar --extract --directory "$incoming" 2>/dev/null || status=1
	if ((status == 0)) && (cd "$incoming" && { [[ ! -s SHA256SUMS ]] || sha256sum --check --status --strict SHA256SUMS; }); then
		rm "$incoming/SHA256SUMS" || status=1
		cp -r "$incoming/." "$run_dir/" || status=1
	else
		warn "what the load generator has written in $1 is not whole here" || true
		status=1
	fi
	rm -rf "$incoming" || status=1
	return "$status"
}
