# shellcheck shell=bash
# A copy of the project whose scripts run the tools' commands directly, without Docker. Only declares.

# copy_project FOLDER NAME...: copies the project's core and these files and folders, writable, and sets up a fake Docker that runs
# the command of in_tools directly.
copy_project() {
	local to=$1 fake=$1-docker from
	mkdir -p "$to/results"
	from=$(realpath "$BATS_TEST_DIRNAME/../..")
	(cd "$from" && cp -r --preserve=timestamps .env docker-compose.yml bench driver loadgen postgres scripts services upstream "${@:2}" "$to")
	chmod -R u+w "$to"
	rm -f "$to/services/.env"
	find "$to" -name __pycache__ -prune -exec rm -r {} +
	if [[ ${PYTHONPYCACHEPREFIX:-} ]]; then
		# Bytecode counts for files of the same age, wherever they are: all copies share that of the project.
		mkdir -p "$PYTHONPYCACHEPREFIX$from" "$PYTHONPYCACHEPREFIX${to%/*}"
		ln -sfn "$PYTHONPYCACHEPREFIX$from" "$PYTHONPYCACHEPREFIX$to"
	else
		export PYTHONDONTWRITEBYTECODE=1
	fi
	cat >"$fake" <<-'EOS'
		#!/usr/bin/env bash
		set -euo pipefail
		case $1 in
		version) echo 99.0 ;;
		image) cat "$0.source" ;;
		run)
			while [[ $1 != bench/loadgen ]]; do
				[[ $1 != *:/bench:ro ]] || cd "${1%:/bench:ro}"
				echo "$1" >>"$0.options"
				shift
			done
			exec "${@:2}"
			;;
		esac
	EOS
	chmod +x "$fake"
	(cd "$to" && python3 -c 'from driver.services.harness import ROOT, source_of; print(source_of(ROOT))') >"$fake.source"
	export BENCH_DOCKER=$fake
}
