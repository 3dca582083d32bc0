# shellcheck shell=bash disable=SC2034,SC2154 # variables are used in bats files; common.bash sets docker
# A user's own app in the end-to-end tests. Only declares.

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	cp -r examples/shop "$BATS_FILE_TMPDIR/my shop"
	export DEFAULTS="--rounds ${ROUNDS:-6} --controls none"
}

setup() {
	cd "$BATS_FILE_TMPDIR/project" || return
	any_host
	shop="$BATS_FILE_TMPDIR/my shop"
	read -ra defaults <<<"$DEFAULTS"
	export IMPORT_TIMEOUT=120 READY_TIMEOUT=60
}

teardown() { rm -rf "$BATS_FILE_TMPDIR"/project/results/2*; }

# Only this file's images: another file may run at the same time.
teardown_file() { remove_images "^bench/own-[0-9a-f]+-.*-(${APPS:-app-flask|app-fastapi})-"; }

# app LINE...: writes an app of these lines in its own folder.
app() {
	mkdir -p "$BATS_TEST_TMPDIR/bad"
	printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/bad/main.py"
}

# last_layers IMAGE...: prints the last layer of each.
last_layers() {
	"$docker" image inspect --format '{{range .RootFS.Layers}}{{println .}}{{end}}END' "$@" | grep -B1 '^END' | grep '^sha'
}

# measure ARGUMENT...: measures the test's app.
measure() { scripts/matrix.sh --app "$BATS_TEST_TMPDIR/bad" main:app "${defaults[@]}" "$@"; }

# refused WORDS COMMAND...: status 2, and the last line has WORDS.
refused() {
	local words=$1
	shift
	run "$@"
	echo "status $status: $output"
	[[ $status == 2 && ${lines[-1]} == *"$words"* ]]
}

# refused_at_once WORDS COMMAND...: as refused, and nothing is built or left.
refused_at_once() {
	refused "$@"
	[[ -z $(compgen -G 'results/2*') && -z $(compgen -G 'results/.app*') ]]
}
