#!/usr/bin/env bats
# --vary: the effect of a knob that matters is found, one that does not shows no difference, a CPU quota throttles and is shown, and
# a hanging worker shows in the CPU time by process. --flags reach the server, and two sides that run the same are not compared.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	measure threads --stack gunicorn-gthread-flask --scenario delay-20 --vary THREADS=1,8 --vary KEEPALIVE=5,75 --rounds 6 --controls none
	# busy-2000 needs more CPU than the quota, even if other programs use most of it.
	measure quota --stack uvicorn-synthetic --scenario busy-2000 --vary CPU_QUOTA=0.1,1 --rounds 6 --controls none
	measure flags --stack uvicorn-asgi --scenario json --flags 'uvicorn: --http h11' --rounds 1 --no-latency --controls none
	measure equal --stack uvicorn-asgi --scenario json --vary PYTHON_JIT=0,1 --rounds 1 --no-latency --controls none
	measure hang --stack uvicorn-synthetic --scenario hang-1000 --vary WORKERS=2 --rounds 1 --duration 4 --controls none
}

# measure NAME SELECTION...: measures a run and writes its folder to $BATS_FILE_TMPDIR/NAME.
measure() {
	local made
	made=$(scripts/matrix.sh --quiet --tool wrk --level 16 "${@:2}" 2>"$BATS_FILE_TMPDIR/$1.log") || {
		cat "$BATS_FILE_TMPDIR/$1.log"
		return 1
	}
	echo "${made%/report.md}" >"$BATS_FILE_TMPDIR/$1"
}

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# use NAME: sets run_folder.
use() { run_folder=$(<"$BATS_FILE_TMPDIR/$1") && cat "$run_folder/report.md"; }

# contrasts RUN A B VERDICT...: counts contrasts of services with A and B in their names that have one of the verdicts.
contrasts() {
	local words
	words=$(printf '|%s' "${@:4}")
	grep '"kind": *"contrast"' "$1/verdicts.jsonl" | grep -E "\"a\": *\"[^\"]*$2\"" | grep -E "\"b\": *\"[^\"]*$3\"" |
		grep -cE "\"verdict\": *\"(${words:1})\"" || true
}

@test "eight threads are found to be faster than one on a route that waits" {
	use threads
	[[ $(contrasts "$run_folder" 'threads1-keepalive[0-9]+' 'threads8-keepalive[0-9]+' faster) == 4 ]]
	grep -qE 'Threads: 8, the most tested, is best.*: with 5 s of keep-alive [5-9][0-9.]* times as many requests per second as 1 thread' "$run_folder/report.md"
	grep -qE '^# gunicorn-gthread-flask \(Python 3.13, debian\) with THREADS=1 KEEPALIVE=5, ' "$run_folder/report.md"
}

# "Not enough data" is fine too: other tests may cause too much noise.
@test "the keep-alive timeout makes no difference" {
	use threads
	[[ $(contrasts "$run_folder" 'threads8-keepalive5' 'threads8-keepalive75' 'equal' 'no winner') == 1 ]]
	grep -q 'KEEPALIVE: .*8 threads is open' "$run_folder/report.md"
}

@test "all settings share one image, and each container has its own settings" {
	use threads
	[[ $(cat "$run_folder"/raw/services/*/image.id | sort -u | wc -l) == 1 ]]
	[[ $(grep -o '"settings":"[^"]*"' "$run_folder/records.jsonl" | sort -u | wc -l) == 4 ]]
	grep -q 'THREADS: "8"' "$run_folder/compose.yml"
}

@test "a quota makes a service slower; its throttling is shown and does not make figures invalid" {
	use quota
	[[ $(contrasts "$run_folder" 'quota0-1' 'quota1' faster) == 1 ]]
	grep -qE '\| a quota of 0.1 CPUs \|.*\| throttled for [0-9.]+ s a round \|' "$run_folder/report.md"
	grep -q 'The server has 1 CPU here: a quota of as much or more limits nothing.' "$run_folder/report.md"
	[[ $(count '"cause":"server"' "$run_folder/records.jsonl") == 0 ]]
	grep -q 'cpus: 0.1' "$run_folder/compose.yml"
}

@test "a worker that hangs on half of its requests shows in the CPU time by process" {
	use hang
	grep -qE '"process_cpu_s":\[[0-9.]+,[0-9.]+' "$run_folder/records.jsonl"
	grep -qE '^\| uvicorn-synthetic-py313-debian-workers2 \| [0-9]+ and [0-9]+ %, uneven \|' "$run_folder/report.md"
}

@test "flags are at the end of the command line of the running server, and only there where they are asked for" {
	use flags
	grep -q '"--http", "h11"\]' "$run_folder"/raw/services/uvicorn-asgi-py313-debian-flagshttp-h11-*/running.json
	[[ $(grep -l h11 "$run_folder"/raw/services/*/running.json | wc -l) == 1 ]]
	[[ $(grep -c '"settings":"FLAGS=' "$run_folder/records.jsonl") -ge 2 && -z $(compgen -G "$run_folder/raw/services/*/failure.json") ]]
	grep -qF '| --http h11 |' "$run_folder/report.md"
}

@test "a JIT that the interpreter does not have makes no second side" {
	use equal
	grep -q 'equal sides: PYTHON_JIT=1 changes nothing in the running process: it is that of uvicorn-asgi-py313-debian-python-jit0' "$run_folder/report.md"
	[[ $(grep -c '"kind": *"contrast"' "$run_folder/verdicts.jsonl" || true) != [1-9]* ]]
}

@test "a knob that no selected server reads is refused before anything is built" {
	run -2 scripts/matrix.sh --stack aiohttp --vary THREADS=1,8
	[[ ${#lines[@]} == 1 && $output == *'--vary THREADS: neither aiohttp nor its app reads THREADS; it takes effect on: '*'gunicorn-gthread'* ]]
	[[ $(compgen -G 'results/2*' | wc -l) == 5 ]]
}
