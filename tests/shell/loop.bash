# shellcheck shell=bash
# A run that is measured by the real loop, with a docker that only pretends (tests/support/fake_docker). Only declares.

PROJECT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export PROJECT FAKE BENCH_DOCKER=$PROJECT/tests/support/fake_docker

# make_run NAME <<<PYTHON: results/NAME and what loads leave, in the current folder; PYTHON sets `plan` and `rates` (9999: with
# answers that are errors, 0: none).
make_run() {
	FAKE=$PWD
	{
		cat - <(echo) && cat <<-'MAKE'
			folder, made = Path("results") / sys.argv[1], Path("made")
			blocks = [line for line in plan if line.get("mode") == "turns"]
			for place in (folder, made):
			    write_run(place, plan, tables_in_turns=tables_of(blocks))
			for line, rate in zip(plan, rates):
			    if not rate:
			        continue
			    if line in blocks:
			        write_window(made, line, rate)
			        continue
			    if shared := line.get("loadgens"):
			        write_clients(made, line, [rate / shared] * shared)
			        (made / line["dir"] / "clients.tsv").unlink()
			    write_measurement(made, line, output_of(line, rate, 9000 if rate == 9999 else 0))
			    for name in ("meta.json", "server.before", "server.after"):
			        (made / line["dir"] / name).unlink()
		MAKE
	} >make.py
	sed -i '1i import json, sys\nfrom pathlib import Path\nfrom client_runs import write_clients\nfrom loop_runs import block, null, solo, tables_of, write_window\nfrom make_run import output_of, write_measurement, write_run' make.py
	PYTHONPATH=$PROJECT:$PROJECT/tests/support python3 make.py "$1"
	cat >loop <<-'LOOP'
		set -Eeuo pipefail
		source "$PROJECT/scripts/lib/containers.sh"
		source "$PROJECT/scripts/lib/measure.sh"
		source "$PROJECT/scripts/lib/run.sh"
		docker=$BENCH_DOCKER run=a-run run_dir=$PWD/results/a-run project=bench-a-run
		trap_errors
		measure_run() {
			say "building 5 services"
			measure_all "${MAX_TIME:-}"
			say "the end"
			echo "results/$run/report.md"
		}
		in_run measure_run
	LOOP
}

# metas: folder and outcome of each measurement that is whole, in the order of their folders.
metas() {
	local file
	for file in results/a-run/raw/r*/{*/*/*,blocks/*/*/*/*/*}/meta.json; do
		[[ ! -e $file ]] || echo "${file%/meta.json} $(sed -E 's/.*"outcome": "([^"]*)".*/\1/' "$file")"
	done | sed 's|^results/a-run/raw/||'
}

# calls: what was asked of docker, without looks at what runs.
calls() { sed 's/bench-a-run-//; s/-1\b//' calls | grep -v '^inspect'; }
