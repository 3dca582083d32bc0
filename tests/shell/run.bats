#!/usr/bin/env bats
# A run before its first load: images, first answers, verification, with an engine that only pretends.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/containers.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/containers.sh"
	# shellcheck source=scripts/lib/images.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/images.sh"
	# shellcheck source=scripts/lib/run.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/run.sh"
	# shellcheck source=scripts/lib/shutdown.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/shutdown.sh"
	# shellcheck source=scripts/lib/verify.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/verify.sh"
	run='a-run' run_dir=$BATS_TEST_TMPDIR/run
	IMAGE_OF=([app]=bench/app) BASE_OF=([app]=python:3.13-slim)
	mkdir -p "$run_dir"/raw/services/{app,slow,good,hangs,liar}
	docker=engine
}

engine() { echo "$*" >>"$BATS_TEST_TMPDIR/asked" && return "${refuses:-0}"; }

@test "a run that goes on has the image that it began with, and builds it where that is gone" {
	run ! restore_image app
	printf 'sha256:%064d\n' 5 >"$run_dir/raw/services/app/image.id"
	restore_image app
	[[ $(<"$BATS_TEST_TMPDIR/asked") == "tag sha256:$(printf %064d 5) bench/app" ]]
	refuses=1
	run ! restore_image app
}

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

@test "a service that takes connections and answers none is given up in time" {
	waited=0
	in_loadgen() { sleep "${@: -1}" && ((waited += ${@: -1})) && return 1; }
	is_running() { :; }
	if READY_TIMEOUT=3 await_answer app; then false; fi
	((waited > 0 && waited <= 3))
}

# verified JOBS NAME...: verify_services for these. The verifier ends with the status in each line of
# $BATS_TEST_TMPDIR/NAME, which that uses up, then with 0.
verified() {
	SERVICES=("${@:2}")
	local name stub
	for name in "${SERVICES[@]}"; do FRAMEWORK_OF[$name]=flask WAITS_OF[$name]=--concurrent ROUTES_OF[$name]=json; done
	for stub in save_provenance start_service await_answer save_idle stop_service server_log service_limits; do
		eval "$stub() { echo \"$stub \$1\" >>'$BATS_TEST_TMPDIR/steps'; }"
	done
	bench() { echo "$*" >>"$BATS_TEST_TMPDIR/recorded" && echo "$3: failed"; }
	in_loadgen() {
		local name=$6 status
		[[ "$*" == "python3 -m bench verify --service $name --base-url http://$name:8080 --concurrent --routes json "* ]] || return 99
		[[ "$*" == *" --json results/a-run/raw/services/$name/verify.json --failure results/a-run/raw/services/$name/failure.json" ]] || return 99
		echo "$name" >>"$BATS_TEST_TMPDIR/order"
		: >"$run_dir/raw/services/$name/verify.json"
		read -r status 2>/dev/null <"$BATS_TEST_TMPDIR/$name" || { echo "5 passed" && return; }
		sed -i 1d "$BATS_TEST_TMPDIR/$name"
		# Cut by the engine, it has nothing to say.
		((status == 126)) || : >"$run_dir/raw/services/$name/failure.json"
		return "$status"
	}
	verify_services "$1" ${contract:+--contract}
}

@test "what was only late beside others is verified once more, alone, after them" {
	echo 3 >"$BATS_TEST_TMPDIR/slow"
	printf '3\n3\n' >"$BATS_TEST_TMPDIR/hangs"
	run -0 --separate-stderr verified 4 slow good hangs
	[[ $(sort "$BATS_TEST_TMPDIR/order" | uniq -c | tr -s ' ') == $' 1 good\n 2 hangs\n 2 slow' ]]
	[[ $(tail -n2 "$BATS_TEST_TMPDIR/order") == $'slow\nhangs' ]]
	cd "$run_dir/raw/services"
	[[ -e slow/verify.json && -e slow/beside/verify.txt && -e slow/beside/failure.json ]]
	[[ ! -e slow/failure.json && ! -e good/beside && -e hangs/failure.json ]]
	[[ $(<"$BATS_TEST_TMPDIR/recorded") == 'service-failed a-run hangs verification 3' ]]
	# shellcheck disable=SC2154 # run sets it
	[[ $(grep -c ': failed' <<<"$stderr") == 1 && $stderr == *'good: verified (5 passed)'* ]]
}

@test "a wrong answer has no second chance" {
	echo 1 >"$BATS_TEST_TMPDIR/liar"
	run -0 verified 4 liar good
	[[ $(sort "$BATS_TEST_TMPDIR/order") == $'good\nliar' ]]
	[[ $(<"$BATS_TEST_TMPDIR/recorded") == 'service-failed a-run liar verification 1' ]]
}

@test "a verifier that was cut beside others works once more, alone; where it is cut again, its status is said" {
	echo 126 >"$BATS_TEST_TMPDIR/cut"
	printf '126\n126\n' >"$BATS_TEST_TMPDIR/again"
	run -0 verified 4 cut good again
	[[ $(tail -n2 "$BATS_TEST_TMPDIR/order") == $'cut\nagain' && -e $run_dir/raw/services/cut/beside && ! -e $run_dir/raw/services/cut/failure.json ]]
	[[ $(<"$BATS_TEST_TMPDIR/recorded") == 'service-failed a-run again verification 126' ]]
}

@test "what is late alone has failed" {
	echo 3 >"$BATS_TEST_TMPDIR/slow"
	run -0 verified 4 slow
	[[ $(wc -l <"$BATS_TEST_TMPDIR/order") == 1 && -e $run_dir/raw/services/slow/failure.json && ! -e $run_dir/raw/services/slow/beside ]]
}

@test "a verifier that comes to no end has failed, and is not taken for a late answer" {
	echo 137 >"$BATS_TEST_TMPDIR/hangs"
	run -0 verified 4 hangs good
	[[ $(<"$BATS_TEST_TMPDIR/recorded") == 'service-failed a-run hangs verification 137' && ! -e $run_dir/raw/services/hangs/beside ]]
}

@test "a run verifies once, with what figures need; a check of the contract alone leaves that out, and ends the service" {
	run -0 verified 1 good
	[[ $(cut -d' ' -f1 "$BATS_TEST_TMPDIR/steps" | tr '\n' ' ') == 'save_provenance start_service await_answer save_idle service_limits stop_service ' ]]
	run -0 verified 1 good
	[[ $(wc -l <"$BATS_TEST_TMPDIR/order") == 1 ]]
	rm "$BATS_TEST_TMPDIR/steps" "$run_dir/raw/services/good/verify.json"
	check_shutdown() { echo "check_shutdown $1" >>"$BATS_TEST_TMPDIR/steps" && stopped=143; }
	contract=yes run -0 verified 1 good
	[[ $(cut -d' ' -f1 "$BATS_TEST_TMPDIR/steps" | tr '\n' ' ') == 'start_service await_answer check_shutdown stop_service ' ]]
}

@test "a service that is killed beside others when it is to end is verified once more, alone" {
	check_shutdown() {
		stopped=143
		if [[ $1 == slow && ! -e $BATS_TEST_TMPDIR/killed ]]; then : >"$BATS_TEST_TMPDIR/killed" && stopped=137; fi
	}
	contract=yes run -0 verified 2 good slow
	[[ $(sort "$BATS_TEST_TMPDIR/order" | uniq -c | tr -s ' ') == $' 1 good\n 2 slow' ]]
	[[ -e $run_dir/raw/services/slow/beside/verify.json && -e $run_dir/raw/services/slow/verify.json ]]
}

@test "an engine that fails while services are verified ends the run" {
	echo '{}' >"$run_dir/plan.jsonl"
	cat >"$BATS_TEST_TMPDIR/verify" <<-'VERIFY'
		set -Eeuo pipefail
		source "$1/scripts/lib/containers.sh"
		source "$1/scripts/lib/run.sh"
		source "$1/scripts/lib/verify.sh"
		run=a-run run_dir=$2 docker=false SERVICES=(good slow)
		IMAGE_OF=([good]=g [slow]=s)
		go() { verify_services 2; echo "went on"; }
		trap_errors
		in_run go
	VERIFY
	run -1 bash "$BATS_TEST_TMPDIR/verify" "$BATS_TEST_DIRNAME/../.." "$run_dir"
	[[ $output == *"the Docker daemon does not answer any more"*"--resume a-run goes on"* && $output != *'went on'* ]]
	# Of one that answers it is said what failed there.
	printf '%s\n' '#!/bin/sh' '[ "$1" = version ]' >"$BATS_TEST_TMPDIR/docker" && chmod +x "$BATS_TEST_TMPDIR/docker"
	sed -i "s|docker=false|docker=$BATS_TEST_TMPDIR/docker|" "$BATS_TEST_TMPDIR/verify"
	run -1 bash "$BATS_TEST_TMPDIR/verify" "$BATS_TEST_DIRNAME/../.." "$run_dir"
	[[ $output == *"scripts/lib/provenance.sh:"*"--resume a-run goes on"* && $output != *'went on'* ]]
}
