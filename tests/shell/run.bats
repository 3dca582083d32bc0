#!/usr/bin/env bats
# A run before its first load, with an engine that only pretends.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/containers.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/containers.sh"
	# shellcheck source=scripts/lib/run.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/run.sh"
	run='a-run' run_dir=$BATS_TEST_TMPDIR/run
	IMAGE_OF=([app]=bench/app) BASE_OF=([app]=python:3.13-slim)
	mkdir -p "$run_dir"/raw/services/app
	docker=engine
}

engine() { echo "$*" >>"$BATS_TEST_TMPDIR/asked" && return "${refuses:-0}"; }

# provenance ID: the engine's, for an image with this id.
provenance() {
	here=$1
	engine() {
		case $* in
		*--format*) echo "$here" ;;
		run*) echo "$*" >"$BATS_TEST_TMPDIR/ran" && printf 'flask==3\n\fPython 3.13\n\fID=debian\n\favailable False\n' ;;
		*) echo '[{}]' ;;
		esac
	}
	save_provenance app
}

@test "what a service is made of is saved once, and another image is refused" {
	provenance sha256:1
	cd "$run_dir/raw/services/app"
	[[ $(<packages.txt) == flask==3 && $(<jit.txt) == 'available False' && $(<image.id) == sha256:1 ]]
	[[ $(<base.json) == '{"name": "python:3.13-slim", "missing": '* && $(<"$BATS_TEST_TMPDIR/ran") == *' --read-only --cap-drop ALL '* ]]
	rm packages.txt
	provenance sha256:1
	[[ ! -e packages.txt ]]
	run -2 provenance sha256:2
	[[ $output == *'app is another image than the one a-run began with: start a new run' ]]
}

@test "the host has an address in the network of those runs alone whose load comes from the host's network" {
	local folder=$BATS_TEST_TMPDIR/results/a-run
	root=$BATS_TEST_TMPDIR
	mkdir -p "$folder"
	touch "$folder"/{knobs.env,services.sh}
	become_writer() { :; }
	compose() { echo "$WITHOUT_HOST"; }
	WITHOUT_HOST=false open_run a-run
	[[ $(<"$folder/compose.yml") == true ]]
	rm "$folder/compose.yml"
	echo 'declare -gA TARGET_OF=([target-127.0.0.1-8000]=http://127.0.0.1:8000)' >"$folder/services.sh"
	open_run a-run
	[[ $(<"$folder/compose.yml") == false ]]
}

# based BASE-LAYERS IMAGE-LAYERS DIGESTS: what is recorded of the base.
based() {
	layers=("$@")
	engine() {
		case ${*: -1} in
		python:3.13-slim) [[ ${layers[0]} ]] && echo "${layers[0]} \"id\": \"sha256:b\", \"repo_digests\": ${layers[2]}" ;;
		*) echo "${layers[1]}" ;;
		esac
	}
	run -0 describe_base python:3.13-slim bench/app
}

@test "of a base the digest of a registry is recorded, where there is one, and only of the base that the image was built on" {
	based '["sha256:1"]' '["sha256:1","sha256:2"]' '["python@sha256:d"]'
	[[ $output == '{"name": "python:3.13-slim", "id": "sha256:b", "repo_digests": ["python@sha256:d"]}' ]]
	based '["sha256:1"]' '["sha256:1"]' '[]'
	[[ $output == '{"name": "python:3.13-slim", "id": "sha256:b", "repo_digests": []}' ]]
	for base in '["sha256:3"]' '[]' ''; do
		based "$base" '["sha256:1","sha256:2"]' '["python@sha256:d"]'
		[[ $output == '{"name": "python:3.13-slim", "missing": "the base that it was built on is not here under this name"}' ]]
	done
}
