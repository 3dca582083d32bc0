# shellcheck shell=bash
# Two refs of a repository, each in a git worktree of its own below results/, for one run. Only declares.
#
# A folder results/.refs-X has: repository and paths (what is taken of it), sides.tsv (`label name mark commit head dirty
# place` of the base, then of the head), changed (the paths that differ), lock (held while it is in use), 0 and 1 with the worktrees.

# shellcheck source=scripts/lib/refs_left.sh
source "${BASH_SOURCE[0]%/*}/refs_left.sh"

# forget_hook: what git has told a hook that calls this is about another folder.
forget_hook() {
	local words names
	words=$(git rev-parse --local-env-vars 2>/dev/null) || return 0
	mapfile -t names <<<"$words"
	unset "${names[@]}"
}

# find_repository FOLDER: sets `repository`, and `prefix`, where FOLDER is in it.
find_repository() {
	repository=$(git -C "$1" rev-parse --show-toplevel 2>&1) ||
		fail 2 "$1 is not in a git clone, which two refs need: ${repository%%$'\n'*}"
	prefix=$(git -C "$1" rev-parse --show-prefix)
	prefix=${prefix%/}
}

# find_commit REF: sets `commit`, `head` and `dirty`.
find_commit() {
	local ref=$1
	[[ $1 != WORKTREE ]] || ref=HEAD
	head=$(in_repository rev-parse --verify --quiet --end-of-options "$ref^{commit}") ||
		fail 2 "there is no commit '$1' in $repository: fetch it first"
	commit=$head dirty=0
	[[ $1 != WORKTREE ]] || commit_worktree
}

# commit_worktree: what is not committed, as a commit that no branch has, and that is the same for the same content.
commit_worktree() {
	local tree head_tree
	local -x GIT_INDEX_FILE=$folder/index
	local -x GIT_AUTHOR_NAME=worktree GIT_AUTHOR_EMAIL=worktree@localhost GIT_AUTHOR_DATE='2000-01-01T00:00:00Z'
	local -x GIT_COMMITTER_NAME=worktree GIT_COMMITTER_EMAIL=worktree@localhost GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
	in_repository read-tree "$head"
	in_repository add --all -- "${paths[@]}"
	tree=$(in_repository write-tree)
	head_tree=$(in_repository rev-parse "$head^{tree}")
	[[ $tree != "$head_tree" ]] || return 0
	commit=$(in_repository commit-tree "$tree" -p "$head" -m 'uncommitted changes')
	dirty=1
}

# list_sides REF REF: writes sides.tsv and `changed`.
list_sides() {
	local ref label slug name='' last='' first='' number=0
	for ref; do
		find_commit "$ref"
		in_repository cat-file -e "$commit:${prefix:-$needed}" 2>/dev/null || fail 2 "'$ref' has no ${prefix:-$needed}: there is nothing to measure"
		label=$ref
		[[ $label =~ ^[A-Za-z0-9._/@%+~^-]{1,60}$ ]] || label=${commit:0:12}
		slug=$(tr -cs 'a-z0-9' - <<<"${label,,}" | sed 's/^-*//; s/-*$//' | cut -c1-24 | sed 's/-*$//')
		name=${slug:-${commit:0:7}}
		[[ $name != "$last" ]] || name+=-${commit:0:7}
		printf '%s\t' "$label" "$name" "${slug:+$slug-}${commit:0:7}" "$commit" "$head" "$dirty"
		printf '%s\n' "${folder#"$root/"}/$number/$tree_name"
		((number += 1))
		last=$name
		[[ ! $first ]] || in_repository diff --no-renames --name-only "$first" "$commit" -- "${paths[@]}" | save "$folder/changed"
		first=$commit
	done | save "$folder/sides.tsv"
	[[ -s $folder/changed ]] || fail 2 "$1 and $2 are equal in $(paste -sd' ' <<<"${paths[*]/%/,}" | sed 's/,$//'): there is nothing to compare"
}

# check_out: a worktree for each line of sides.tsv, with the paths that are needed.
check_out() {
	local commit place path there
	while IFS=$'\t' read -r _ _ _ commit _ _ place; do
		in_repository cat-file -e "$commit^{commit}" 2>/dev/null ||
			fail 2 "commit ${commit:0:12} is no longer in $repository: start a new run"
		mkdir -p "$root/${place%/*}"
		there=()
		for path in "${paths[@]}"; do ! in_repository cat-file -e "$commit:$path" 2>/dev/null || there+=("$path"); done
		in_repository worktree add --quiet --detach --no-checkout "$root/$place" "$commit"
		(umask 022 && git -C "$root/$place" -c core.hooksPath=/dev/null checkout --quiet "$commit" -- "${there[@]}")
	done <"$folder/sides.tsv"
}
