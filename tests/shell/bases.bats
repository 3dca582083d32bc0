#!/usr/bin/env bats
# Base images: which ones the scripts get and how, with a fake docker and a fake mmdebstrap.
# shellcheck disable=SC2317 # scripts/lib/bases.sh calls these functions

bats_require_minimum_version 1.5.0

setup() {
	project=$BATS_TEST_TMPDIR/project
	mkdir "$project" "$BATS_TEST_TMPDIR/images"
	cp -r "$BATS_TEST_DIRNAME"/../../{.env,scripts,services} "$project"
	chmod -R u+w "$project"
	rm -f "$project/services/.env"
	unset PYTHON_IMAGE PYPY_IMAGE DEBIAN_IMAGE
	# shellcheck source=scripts/lib/bases.sh
	source "$project/scripts/lib/bases.sh"
	docker=pretended_docker
	# Override what was just sourced.
	timeout() { "${@:2}"; }
	debian_family() { true; }
	mmdebstrap() { true; }
	make_base() { echo "$*" >>"$BATS_TEST_TMPDIR/made" && touch "$BATS_TEST_TMPDIR/images/${1//[:\/]/_}"; }
	registry='python:3.13-slim debian:trixie-slim'
}

# Local images are files; the images in `registry` can be pulled.
pretended_docker() {
	local name
	case "$1 $2" in
	'image inspect') for name in "${@:3}"; do [[ -e $BATS_TEST_TMPDIR/images/${name//[:\/]/_} ]] || return 1; done ;;
	'pull -q')
		[[ -z ${refused:-} ]] || { printf 'Using default tag\nError response from daemon: %s\n' "$refused" >&2 && return 1; }
		[[ " $registry " == *" $3 "* ]] || { echo "manifest for $3 not found: manifest unknown" >&2 && return 1; }
		touch "$BATS_TEST_TMPDIR/images/${3//[:\/]/_}"
		;;
	esac
}

local_machine() { printf '%s\n' LOCAL_PYTHON_IMAGE=bench-python LOCAL_PYPY_IMAGE=bench-pypy >"$local_file"; }

@test "setup needs only Debian and the default Python" {
	[[ $(setup_bases) == $'debian:trixie-slim\npython:3.13-slim' ]]
	local_machine
	[[ $(setup_bases) == $'bench-debian:trixie-slim\nbench-python:3.13-slim' ]]
}

@test "with a registry: images that it has are pulled, others are reported and remembered" {
	run -0 --separate-stderr missing_bases python:3.13-slim python:3.12-alpine
	[[ $output == python:3.12-alpine ]]
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == 'base image python:3.12-alpine cannot be pulled: its cells are skipped (the registry does not have it (manifest for python:3.12-alpine not found: manifest unknown))' ]]
	grep -qx 'MISSING_BASES=python:3.12-alpine' "$local_file"
	run -0 --separate-stderr missing_bases pypy:3.11-slim
	grep -qx 'MISSING_BASES=python:3.12-alpine pypy:3.11-slim' "$local_file"
}

@test "a base that no registry has leaves the choice of local ones" {
	local_machine
	run -0 missing_bases registry.example/python:3.12-alpine
	[[ $output == *registry.example/python:3.12-alpine ]]
	local_bases
	grep -qx 'MISSING_BASES=registry.example/python:3.12-alpine' "$local_file"
}

@test "a pull that fails for another reason is tried again by the next run" {
	refused='toomanyrequests: the limit is reached' run -0 --separate-stderr missing_bases python:3.13-slim
	[[ $output == python:3.13-slim && $stderr == *'its cells are skipped (rate limit of the registry (Error response from daemon: toomanyrequests: the limit is reached))' ]]
	[[ ! -e $local_file ]]
	run -0 missing_bases python:3.13-slim
	[[ -z $output ]]
}

@test "only a registry that cannot be reached leads to local bases; every other cause is printed and ends the setup" {
	((EUID == 0)) || skip "only root makes bases"
	local refused cause expected
	while IFS='|' read -r expected cause refused; do
		rm -f "$local_file"
		run "-$expected" choose_bases
		echo "$output"
		[[ $output == *"debian:trixie-slim"*"$cause"*"$refused"* ]]
		if ((expected)); then [[ ! -e $local_file ]]; else local_bases; fi
	done <<-'EOF'
		2|rate limit of the registry (|toomanyrequests: You have reached your unauthenticated pull rate limit.
		2|the registry denies access (|pull access denied for debian, repository does not exist or may require 'docker login'
		2|the registry denies access (|Head "https://registry.example/v2/": unauthorized: authentication required
		2|the registry does not have it (|manifest for debian:trixie-slim not found: manifest unknown
		2|pulled: Error|received unexpected HTTP status: 503 Service Unavailable
		2|pulled: Error|tls: failed to verify certificate: x509: certificate signed by unknown authority
		0|the registry cannot be reached (|dial tcp: lookup registry.example on 192.0.2.1:53: no such host
		0|the registry cannot be reached (|dial tcp 192.0.2.1:443: connect: connection refused
		0|the registry cannot be reached (|dial tcp 192.0.2.1:443: i/o timeout
		0|the registry cannot be reached (|net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)
	EOF
}

@test "local bases are for one run: the next asks the registry again" {
	((EUID == 0)) || skip "only root makes bases"
	refused='dial tcp: no such host' choose_bases
	refused='dial tcp: no such host' get_bases
	[[ $(sort "$BATS_TEST_TMPDIR/made") == $'bench-debian:trixie-slim trixie\nbench-python:3.13-slim trixie python3.13 python3.13-venv' ]]
	# Still out of reach: what was built serves, and there is nothing to say.
	refused='dial tcp: no such host' run -0 choose_bases
	[[ -z $output ]]
	local_bases
	have_bases
	refused='toomanyrequests' run -2 choose_bases
	run -0 choose_bases
	[[ $(setup_bases) == $'debian:trixie-slim\npython:3.13-slim' && ! -e $local_file ]]
}

@test "mmdebstrap is installed only by --setup" {
	((EUID == 0)) || skip "only root makes bases"
	command() { [[ $* != '-v mmdebstrap' ]] && builtin command "$@"; }
	apt_install() { echo "apt_install $*" >&2; }
	refused='no such host' run -2 choose_bases
	[[ $output == *'the registry cannot be reached (Error response from daemon: no such host), and local bases need mmdebstrap: install it, or run scripts/setup.sh --setup' ]]
	[[ $output != *apt_install* && ! -e $local_file ]]
	refused='no such host' may_install=1 run -0 choose_bases
	[[ $output == *'apt_install mmdebstrap'* ]]
	local_bases
}

@test "bases that are here are not mentioned" {
	touch "$BATS_TEST_TMPDIR/images/python_3.13-slim"
	run -0 missing_bases python:3.13-slim
	[[ -z $output && ! -e $local_file ]]
}

@test "without a registry: each base is built once, from the Debian release that has its Python" {
	((EUID == 0)) || skip "only root makes bases"
	local_machine
	run -0 missing_bases bench-python:3.15-slim bench-pypy:3.11-slim bench-python:3.9-slim
	run -0 missing_bases bench-python:3.15-slim bench-pypy:3.11-slim bench-python:3.9-slim
	[[ $(sort "$BATS_TEST_TMPDIR/made") == 'bench-pypy:3.11-slim trixie pypy3 pypy3-venv
bench-python:3.15-slim forky python3.15 python3.15-venv
bench-python:3.9-slim bullseye python3.9 python3.9-venv' ]]
}

@test "a local base has the version of its Python in a variable, as an official image has, and no name if that is unknown" {
	# shellcheck source=scripts/lib/bases.sh
	source "$project/scripts/lib/bases.sh"
	mmdebstrap() { :; }
	engine() {
		case $1 in
		run) [[ ! ${broken:-} ]] && "$(command -v python3)" -c "${@: -1}" ;;
		build) echo "$* $(cat)" >>"$BATS_TEST_TMPDIR/asked" ;;
		esac
	}
	docker=engine
	make_base bench-python:3.13-slim trixie python3.13
	make_base bench-debian:trixie-slim trixie
	broken=1 run ! bash -c "$(declare -f); $(declare -p docker print_version); set -e; make_base bench-python:3.9-slim bullseye python3.9"
	expected=$(python3 -c 'import platform; print(platform.python_version())')
	[[ $(<"$BATS_TEST_TMPDIR/asked") == "build --quiet --tag bench-python:3.13-slim - FROM bench-python:3.13-slim-unfinished
ENV PYTHON_VERSION=$expected
build --quiet --tag bench-debian:trixie-slim - FROM bench-debian:trixie-slim-unfinished" ]]
}

@test "without a registry and without a way to build bases: a line that says so" {
	local_machine
	debian_family() { false; }
	run -0 --separate-stderr missing_bases bench-python:3.15-slim
	[[ $output == bench-python:3.15-slim && $stderr == 'base image bench-python:3.15-slim: local bases can be built only by root on Debian '* ]]
}

# registry_with NAME DIGEST: a fake registry that knows only NAME; the client's commands go to $BATS_TEST_TMPDIR/asked.
registry_with() {
	local name=$1 digest=$2
	eval "known_docker() {
		echo \"\$*\" >>'$BATS_TEST_TMPDIR/asked'
		case \"\$*\" in
		*'imagetools inspect'*' $name') echo '$digest' ;;
		*imagetools*) return 1 ;;
		'image inspect --format'*) echo '[python@sha256:other]' ;;
		'image inspect'*) return 1 ;;
		esac
	}"
	docker=known_docker
}

@test "bases are locked by their registry's digests; bases without an answer keep their old digest and get a warning" {
	printf 'pypy:3.11-slim\tsha256:kept\n' >"$base_lock"
	given=sha256:$(printf 'a%.0s' {1..64})
	registry_with python:3.13-slim "$given"
	lock_bases 2>"$BATS_TEST_TMPDIR/said"
	[[ $(grep -v '^#' "$base_lock") == "python:3.13-slim"$'\t'"$given"$'\n'"pypy:3.11-slim"$'\t'"sha256:kept" ]]
	grep -qx 'no registry gives a digest of debian:trixie-slim' "$BATS_TEST_TMPDIR/said"
	[[ ${#not_given[@]} == "$(grep -c . "$BATS_TEST_TMPDIR/said")" ]]
	grep -q ' debian:trixie-slim$' "$BATS_TEST_TMPDIR/asked"
}

@test "a base is pulled by its locked digest and tagged with its name; one without a lock is pulled by its tag" {
	registry_with python:3.13-slim sha256:given
	printf 'python:3.13-slim\tsha256:given\n' >"$base_lock"
	pull_base python:3.13-slim
	pull_base python:3.12-slim
	[[ $(grep -E '^(pull|tag)' "$BATS_TEST_TMPDIR/asked") == 'pull -q python:3.13-slim@sha256:given
tag python:3.13-slim@sha256:given python:3.13-slim
pull -q python:3.12-slim' ]]
}

@test "a local base that differs from the locked one gets a warning" {
	registry_with python:3.13-slim sha256:given
	printf 'python:3.13-slim\tsha256:given\npypy:3.11-slim\tsha256:other\n' >"$base_lock"
	run -0 name_other_bases python:3.13-slim pypy:3.11-slim python:3.9-slim
	[[ ${#lines[@]} == 1 && $output == 'base image python:3.13-slim is not the one in services/locks/bases.tsv: '* ]]
}
