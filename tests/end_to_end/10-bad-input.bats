#!/usr/bin/env bats
# The user's faults: one line that names the mend, exit status 2, nothing run. Here what the scripts have a part in; what a
# selection can have wrong is in tests/unit/cli/test_bad_input.py.

load common

setup_file() { copy_project "$BATS_FILE_TMPDIR/project"; }

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# refused WORDS COMMAND...: status 2, and one line with WORDS in it.
refused() {
	local words=$1
	shift
	run "$@"
	echo "status $status: $output"
	[[ $status == 2 && ${#lines[@]} == 1 && $output == *"$words"* ]]
	[[ -z $(compgen -G "results/2*") ]]
}

@test "unknown preset" { refused "there are: quick" scripts/matrix.sh --preset nope; }

@test "unknown flag" { refused "see scripts/matrix.sh --help" scripts/matrix.sh --frobnicate; }

@test "a knob's value" {
	WORKER_CLASS=threads refused "is not sync or gevent" scripts/matrix.sh
	NOFILE=1e9 refused "NOFILE='1e9' is not a number" scripts/matrix.sh --list
}

@test "a results folder that is not one" {
	refused "is not a results folder" scripts/report.sh /tmp
	refused "is not a results folder" scripts/matrix.sh --resume nope
	refused "--resume needs the name of a run" scripts/matrix.sh --resume
	refused "--resume needs the name of a run" scripts/matrix.sh --resume ""
	refused "unrecognized arguments: --preset quick" scripts/matrix.sh --resume nope --preset quick
	refused "is not a results folder" scripts/compare-runs.sh --check nope /tmp
	refused "takes two runs" scripts/compare-runs.sh --check nope
	refused "is not a results folder" scripts/compare-runs.sh nope /tmp
}

@test "an unknown service to verify" { refused "unknown service" scripts/verify.sh nope; }

@test "an unknown tool to parse" { refused "wrk" scripts/parse.sh curl </dev/null; }

@test "a corrupt matrix.toml" {
	cp services/matrix.toml "$BATS_TEST_TMPDIR/"
	echo '[[[' >>services/matrix.toml
	refused "is not valid TOML" scripts/matrix.sh --list
	sed '/^\[defaults\]/,/^$/d' "$BATS_TEST_TMPDIR/matrix.toml" >services/matrix.toml
	refused "'defaults' is missing" scripts/matrix.sh --list
	cp "$BATS_TEST_TMPDIR/matrix.toml" services/
}

@test "Docker not running" {
	DOCKER_HOST=unix:///nowhere.sock refused "the Docker daemon does not answer" scripts/matrix.sh --list
}

@test "no Docker at all" {
	local bin=$BATS_TEST_TMPDIR/bin tool
	mkdir "$bin"
	printf '#!/bin/sh\nexit 1\n' | tee "$bin/docker" >/dev/null
	chmod +x "$bin/docker"
	sed -i "s|in docker /usr/bin/docker /usr/local/bin/docker|in docker|" scripts/lib/engine.sh
	PATH=$bin:$PATH refused "no Docker with Compose" scripts/matrix.sh --list
}
