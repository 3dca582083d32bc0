# shellcheck shell=bash
# Who uses two refs that are checked out, and what becomes of them. Only declares; refs.sh says what is in their folder.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

# The folder, and what is taken of the repository; compare.sh sets others for an app of one's own.
# shellcheck disable=SC2034 # refs.sh and compare.sh use them
folder='' repository='' prefix='' tree_name=project needed=services/matrix.toml paths=(services .env)

# in_repository ARGUMENT...: git there; hooks of checkouts are not run.
in_repository() { git -C "$repository" -c core.hooksPath=/dev/null -c core.quotePath=false "$@"; }

# hold_refs: the lock of `folder`, for this shell and all that it starts; false where another one has it.
hold_refs() {
	exec {refs_lock}>"$folder/lock"
	flock --nonblock "$refs_lock"
}

# find_saved FOLDER: sets `repository` to that of FOLDER; this project's is an empty line there.
find_saved() {
	repository=$(cat "$1/repository" 2>/dev/null) || repository=''
	repository=${repository:-$root}
}

# remove_refs FOLDER: images of its sides, worktrees, files. Images that another folder's sides have, too, stay with that.
remove_refs() {
	local mark place names others repository
	find_saved "$1"
	others=$(find "$root/results" -mindepth 2 -maxdepth 2 -path '*/.refs-*/sides.tsv' -not -path "$1/*" -exec cut -f3 {} +)
	while IFS=$'\t' read -r _ _ mark _ _ _ place; do
		names=''
		grep -qxF "$mark" <<<"$others" ||
			names=$("$docker" image ls --format '{{.Repository}}:{{.Tag}}' --filter "reference=bench/*-$mark" 2>/dev/null) || true
		[[ ! $names ]] || xargs "$docker" image rm --force <<<"$names" >/dev/null 2>&1 || true
		rm -rf "${root:?}/$place"
		in_repository worktree remove --force --force "$root/$place" 2>/dev/null || true
	done < <(cat "$1/sides.tsv" 2>/dev/null)
	rm -rf "$1"
}

# remove_left_refs: of calls that were killed: folders whose lock nobody holds. One without a lock may just begin.
remove_left_refs() {
	local left
	for left in "$root"/results/.refs-*/; do
		left=${left%/}
		if [[ -e $left/lock ]]; then
			flock --nonblock "$left/lock" true || continue
		elif [[ ! -d $left || $(find "$left" -maxdepth 0 -mmin -1) ]]; then
			continue
		fi
		say "removing what is left of two refs: ${left#"$root/"}"
		remove_refs "$left"
	done
}
