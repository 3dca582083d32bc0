# shellcheck shell=bash
# Who uses two refs that are checked out, and what becomes of them. Only declares; refs.sh says what is in their folder.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"

# hold_refs: the lock of `folder`, for this shell and all that it starts; false where another one has it.
hold_refs() {
	exec {refs_lock}>"$folder/lock"
	flock --nonblock "$refs_lock"
}

# remove_refs FOLDER: images of its sides, worktrees, files.
remove_refs() {
	local mark place names repository
	repository=$(cat "$1/repository" 2>/dev/null) || repository=''
	while IFS=$'\t' read -r _ _ mark _ _ _ place; do
		names=$("$docker" image ls --format '{{.Repository}}:{{.Tag}}' --filter "reference=bench/*-$mark" 2>/dev/null) || names=''
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
