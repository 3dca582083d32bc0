# shellcheck shell=bash
# A value of --package as files that a container builds from: a copy, so that every Python has the same. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"

# package_item FOLDER SPEC: what it is, into the folder.
package_item() {
	local folder=$1 spec=$2 kind='' path
	mkdir -p "$folder"
	printf '%s' "$spec" >"$folder/spec"
	path=${spec#git+file://}
	if [[ $spec =~ ^[A-Za-z0-9][A-Za-z0-9._-]*== ]]; then
		package_releases "$folder" "$spec"
		return
	elif [[ -f $spec && $spec == *.whl ]]; then
		kind=wheel
		cp "$spec" "$folder/"
	elif [[ -f $spec && $spec =~ \.(tar\.[a-z0-9]+|tgz|zip)$ ]]; then
		kind=sdist
		cp "$spec" "$folder/"
	elif [[ -d $spec ]]; then
		kind=folder
		package_folder "$folder" "$spec"
	elif [[ $path == *@?* && -d ${path%@*} ]]; then
		kind=commit
		package_commit "$folder" "$spec" "${path%@*}" "${path##*@}"
	elif [[ $spec =~ \.(whl|tar\.[a-z0-9]+|tgz|zip)$ ]]; then
		fail 2 "--package: there is no file '$spec'"
	else
		fail 2 "--package '$spec' is not NAME==X, and there is no such folder or repository; see --help"
	fi
	printf '%s' "$kind" >"$folder/kind"
}

# package_releases FOLDER SPEC: NAME==X, or a ladder: NAME==21.*,22.*,23.1.0 or NAME==last:10.
package_releases() {
	local name=${2%%==*} part parts kind=release
	IFS=, read -ra parts <<<"$2"
	for part in "${parts[@]}"; do
		if [[ $part == *==* ]]; then name=${part%%==*} part=${part#*==}; fi
		[[ $part =~ ^([0-9][A-Za-z0-9.!+]*(\.\*)?|last:[1-9][0-9]?)$ && $name =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] ||
			fail 2 "--package '$2': '$part' is no version: give NAME==21.2.0, NAME==21.*,22.* or NAME==last:10"
		[[ $part =~ ^[^:*]*$ && ${#parts[@]} == 1 ]] || kind=ladder
		printf '%s==%s\n' "$name" "$part" >>"$1/releases"
	done
	printf '%s' "$kind" >"$1/kind"
}

# package_folder FOLDER PATH: of a repository what git does not ignore, with its history where that is in the folder (versions
# come from tags); else all but what builds and editors leave.
package_folder() {
	local name top prefix commit changes files=$1/files
	mkdir "$1/source"
	if ! prefix=$(git -C "$2" rev-parse --show-prefix 2>/dev/null) || ! commit=$(git -C "$2" rev-parse --verify --quiet HEAD); then
		tar -C "$2" --exclude=__pycache__ --exclude=.venv --exclude=node_modules -cf - . | tar -C "$1/source" -xf -
		return
	fi
	top=$(git -C "$2" rev-parse --show-toplevel)
	git -C "$top" ls-files -z --cached --others --exclude-standard >"$files"
	# What was deleted is still listed.
	while IFS= read -r -d '' name; do
		[[ ! -e $top/$name && ! -L $top/$name ]] || printf '%s\0' "$name"
	done <"$files" | tar -C "$top" --null --files-from=- -cf - | tar -C "$1/source" -xf -
	rm "$files"
	[[ ! -d $top/.git ]] || cp -r "$top/.git" "$1/source/"
	printf '%s' "${prefix%/}" >"$1/subfolder"
	printf '%s' "$commit" >"$1/commit"
	changes=$(git -C "$2" status --porcelain -- .)
	[[ ! $changes ]] || { printf yes >"$1/changed" && say "--package $2: with uncommitted changes"; }
}

# package_commit FOLDER SPEC PATH REF: the commit in a repository of its own, with its history; from a shallow one, too.
package_commit() {
	local commit prefix top to=$1/source log=$1/git.log
	git -C "$3" rev-parse --git-dir >/dev/null 2>&1 || fail 2 "--package '$2': '$3' is not in a git repository"
	commit=$(git -C "$3" rev-parse --verify --quiet --end-of-options "$4^{commit}") || fail 2 "--package '$2': there is no commit '$4' in '$3'"
	prefix=$(git -C "$3" rev-parse --show-prefix)
	top=$(git -C "$3" rev-parse --show-toplevel)
	git init --quiet "$to"
	# The commit may be in no branch.
	git -C "$to" fetch --quiet --tags --update-shallow --upload-pack 'git -c uploadpack.allowAnySHA1InWant=true upload-pack' \
		"$top" "$commit" >"$log" 2>&1 || fail 1 "--package '$2': $(tail -n1 "$log")"
	git -C "$to" checkout --quiet --detach "$commit" >"$log" 2>&1 || fail 1 "--package '$2': $(tail -n1 "$log")"
	[[ ! $prefix || -d $to/$prefix ]] || fail 2 "--package '$2': commit $4 has no folder '${prefix%/}'"
	rm "$log"
	printf '%s' "${prefix%/}" >"$1/subfolder"
	printf '%s' "$commit" >"$1/commit"
}
