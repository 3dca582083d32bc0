# shellcheck shell=bash
# A run that is measured by the driver, with a docker that only pretends (tests/support/fake_docker). Only declares.

PROJECT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export PROJECT FAKE BENCH_DOCKER=$PROJECT/tests/support/fake_docker

# make_run <<<PYTHON: results/a-run and what loads leave, in the current folder; PYTHON sets `plan` and `rates`
# (tests/support/loop_runs.py).
make_run() {
	FAKE=$PWD
	{
		echo 'from loop_runs import *'
		cat - <(echo)
		echo 'make_loop(Path(), plan, rates)'
	} >make.py
	PYTHONPATH=$PROJECT:$PROJECT/tests/support python3 make.py
	cat >loop <<-'LOOP'
		export BENCH_ROOT=$PWD BENCH_PROJECT=bench-a-run BENCH_ENGINE_KIND=docker PYTHONPATH=$PROJECT
		BENCH_BEGAN=$(tr -d . </proc/uptime | cut -d' ' -f1) exec python3 -m driver hold a-run -- bash measure
	LOOP
	cat >measure <<-'MEASURE'
		set -Eeuo pipefail
		echo "building 5 services" >&2
		while python3 -m driver next a-run || { status=$? && false; }; do
			python3 -m driver measure a-run
		done
		((status == 3 || status == 4)) || exit "$status"
		echo "the end" >&2
		echo results/a-run/report.md
	MEASURE
}

# metas: folder and outcome of each measurement that is whole, in the order of their folders.
metas() {
	local file
	for file in results/a-run/raw/r*/*/*/*/meta.json; do
		[[ ! -e $file ]] || echo "${file%/meta.json} $(sed -E 's/.*"outcome": "([^"]*)".*/\1/' "$file")"
	done | sed 's|^results/a-run/raw/||'
}
