#!/usr/bin/env bats
# The values of --package as files to build from, with git and without Docker; and a build that is interrupted.
# shellcheck disable=SC2154,SC2317 # run sets stderr; what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/compose.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/compose.sh"
	# shellcheck source=scripts/lib/packages.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/packages.sh"
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=$BATS_TEST_TMPDIR
	item=$BATS_TEST_TMPDIR/item repo=$BATS_TEST_TMPDIR/a\ repo
}

# make_repo: three commits, of which the second one has the tag v1, with an ignored folder.
make_repo() {
	git init --quiet --initial-branch main "$repo"
	mkdir -p "$repo/pkg" "$repo/build"
	echo build >"$repo/.gitignore"
	touch "$repo/build/old"
	local number
	for number in 1 2 3; do
		echo "$number" >"$repo/pkg/code.py"
		git -C "$repo" add --all
		git -C "$repo" commit --quiet --message "$number"
		((number != 2)) || git -C "$repo" tag v1
	done
}

refused() {
	local words=$1
	rm -rf "$item"
	run -2 package_item "$item" "$2"
	echo "$output"
	[[ ${#lines[@]} == 1 && $output == *"$words"* ]]
}

@test "releases are a line each, and a ladder is what may have gaps" {
	package_item "$item" gunicorn==23.0.0
	[[ $(<"$item/kind") == release && $(<"$item/releases") == gunicorn==23.0.0 ]]
	rm -r "$item"
	package_item "$item" 'gunicorn==21.*,23.0.0,last:3,gunicorn==27.*'
	[[ $(<"$item/kind") == ladder && $(<"$item/spec") == 'gunicorn==21.*,23.0.0,last:3,gunicorn==27.*' ]]
	[[ $(<"$item/releases") == $'gunicorn==21.*\ngunicorn==23.0.0\ngunicorn==last:3\ngunicorn==27.*' ]]
	for wrong in 'a==>1' 'a==1;b' 'a==last:0' 'a==last:100' 'a==*' 'a==' "a==1,\$(id)"; do refused "is no version" "$wrong"; done
}

@test "what is not there is refused by name" {
	make_repo
	refused "there is no file '/nowhere.whl'" /nowhere.whl
	refused "there is no file './x.tar.gz'" ./x.tar.gz
	refused "there is no such folder or repository" ./nowhere
	refused "there is no such folder or repository" ./nowhere@main
	refused "there is no such folder or repository" "git+https://host/x@main"
	refused "there is no commit 'v9'" "$repo@v9"
	refused "there is no commit '--all'" "$repo@--all"
	mkdir "$BATS_TEST_TMPDIR/plain"
	refused "is not in a git repository" "$BATS_TEST_TMPDIR/plain@main"
	mkdir "$repo/new"
	refused "has no folder 'new'" "$repo/new@v1"
}

@test "a folder is copied as it is, without what git ignores, and with what is not committed" {
	make_repo
	package_item "$item" "$repo"
	[[ $(<"$item/kind") == folder && $(<"$item/commit") == "$(git -C "$repo" rev-parse HEAD)" && ! -e $item/changed ]]
	[[ $(<"$item/source/pkg/code.py") == 3 && ! -e $item/source/build ]]
	[[ $(git -C "$item/source" describe --tags) == v1-1-g* ]]
	rm -r "$item" "$repo/pkg/code.py"
	touch "$repo/pkg/new.py"
	package_item "$item" "$repo/pkg"
	[[ -e $item/changed && $(<"$item/subfolder") == pkg && -e $item/source/pkg/new.py && ! -e $item/source/pkg/code.py ]]
	# Outside of a repository it is all there is.
	rm -rf "$item" "$repo/.git"
	mkdir "$repo/.venv"
	package_item "$item" "$repo"
	[[ ! -e $item/commit && -e $item/source/build/old && ! -e $item/source/.venv ]]
}

@test "a commit has its history, also of a shallow clone and in no branch; the repository is as it was" {
	make_repo
	local spec third shallow=$BATS_TEST_TMPDIR/shallow
	third=$(git -C "$repo" rev-parse HEAD)
	git -C "$repo" reset --quiet --hard v1
	echo changed >"$repo/pkg/code.py"
	for spec in "$repo@$third" "git+file://$repo@$third"; do
		rm -rf "$item"
		package_item "$item" "$spec"
		[[ $(<"$item/kind") == commit && $(<"$item/commit") == "$third" && $(<"$item/source/pkg/code.py") == 3 ]]
		[[ $(git -C "$item/source" describe --tags) == v1-1-g* ]]
	done
	[[ $(<"$repo/pkg/code.py") == changed && $(git -C "$repo" worktree list | wc -l) == 1 ]]
	rm -rf "$item"
	package_item "$item" "$repo/pkg@v1~1"
	[[ $(<"$item/source/pkg/code.py") == 1 && $(<"$item/subfolder") == pkg ]]
	git clone --quiet --depth 1 "file://$repo" "$shallow"
	rm -rf "$item"
	package_item "$item" "$shallow@HEAD"
	[[ $(<"$item/source/pkg/code.py") == 2 ]]
}

@test "a file is taken as it is" {
	touch "$BATS_TEST_TMPDIR"/{a-1-py3-none-any.whl,a-1.tar.gz}
	package_item "$item" "$BATS_TEST_TMPDIR/a-1-py3-none-any.whl"
	[[ $(<"$item/kind") == wheel && -e $item/a-1-py3-none-any.whl ]]
	rm -r "$item"
	package_item "$item" "$BATS_TEST_TMPDIR/a-1.tar.gz"
	[[ $(<"$item/kind") == sdist && -e $item/a-1.tar.gz ]]
}

@test "the option stays in the selection and needs a value" {
	package_option --package a==1
	package_option --package=./b
	package_option --stack x
	[[ ${packages[*]} == 'a==1 ./b' ]]
	run -2 package_option --package
}

@test "an interrupt while wheels are built leaves no folder" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root/results" "$root/services"
	touch "$root/services/matrix.toml"
	cat >"$BATS_TEST_TMPDIR/prepare" <<-EOS
		source "$BATS_TEST_DIRNAME/../../scripts/lib/compose.sh"
		source "$BATS_TEST_DIRNAME/../../scripts/lib/packages.sh"
		root=$root docker=builder packages=(a==1) selection=()
		in_tools() { echo py313 3.13; }
		get_base() { :; }
		own_prefix() { echo python; }
		builder() { echo building >"$root/building" && sleep 60; }
		trap_errors
		prepare_packages
	EOS
	set -m
	env --default-signal=INT bash "$BATS_TEST_TMPDIR/prepare" 2>/dev/null &
	local pid=$! status=0
	set +m
	for ((i = 0; i < 100; i++)); do
		[[ ! -e $root/building ]] || break
		sleep 0.1
	done
	[[ -e $root/building && $(compgen -G "$root/results/.packages-*" | wc -l) == 1 ]]
	kill -INT "$pid"
	wait "$pid" || status=$?
	((status == 130))
	[[ -z $(compgen -G "$root/results/.packages-*") ]]
	run ! pgrep -f "$root/building"
}
