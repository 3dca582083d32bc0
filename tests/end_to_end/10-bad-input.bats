#!/usr/bin/env bats
# Bad input: a one-line error that says how to fix it, exit status 2, and nothing is run. These are errors found by the scripts;
# tests/unit/cli/test_bad_input.py has errors in a selection.

load common

setup_file() { copy_project "$BATS_FILE_TMPDIR/project"; }

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# refused WORDS COMMAND...: status 2 and a single line that has WORDS.
refused() {
	local words=$1
	shift
	run "$@"
	echo "status $status: $output"
	[[ $status == 2 && ${#lines[@]} == 1 && $output == *"$words"* ]]
	[[ -z $(compgen -G "results/2*") ]]
}

@test "unknown preset" { refused "did you mean quick" scripts/matrix.sh --preset quik; }

@test "unknown flag" { refused "scripts/matrix.sh --help lists all" scripts/matrix.sh --frobnicate; }

@test "the value of a setting" {
	WORKER_CLASS=threads refused "is not sync or gevent" scripts/matrix.sh
	NOFILE=1e9 refused "NOFILE='1e9' is not a number" scripts/matrix.sh --list
}

@test "a folder that is not a run" {
	refused "unknown run " scripts/report.sh /tmp
	refused "unknown run " scripts/matrix.sh --resume nope
	refused "--resume needs the name of a run" scripts/matrix.sh --resume
	refused "--resume needs the name of a run" scripts/matrix.sh --resume ""
	refused "unrecognized arguments: --preset quick" scripts/matrix.sh --resume nope --preset quick
	refused "unknown run " scripts/compare-runs.sh --check nope /tmp
	refused "takes two runs" scripts/compare-runs.sh --check nope
	refused "unknown run " scripts/compare-runs.sh nope /tmp
}

@test "an unknown service to verify" { refused "unknown service" scripts/verify.sh nope; }

@test "an unknown tool to parse" { refused "scripts/matrix.sh --list tools lists all" scripts/parse.sh curl </dev/null; }

@test "a corrupt matrix.toml" {
	mv services/matrix.toml "$BATS_TEST_TMPDIR/"
	echo '[[[' >services/matrix.toml
	refused "services/matrix.toml is not valid TOML" scripts/matrix.sh --list
	rm services/matrix.local.toml
	echo 'schema = 1' >services/matrix.toml
	refused "missing key 'defaults'" scripts/matrix.sh --list
	mv "$BATS_TEST_TMPDIR/matrix.toml" services/
}

@test "Docker not running" {
	DOCKER_HOST=unix:///nowhere.sock refused "the Docker daemon does not answer" scripts/matrix.sh --dry-run
}
