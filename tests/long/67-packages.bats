#!/usr/bin/env bats
# A package from source compared with its release: an added slowdown is found, an equal rebuild shows no difference, and resuming
# the run does not need the source. Uses the real uvicorn from the package index.

load ../end_to_end/common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	export SOURCES=$BATS_FILE_TMPDIR/sources VERSION
	VERSION=$(sed -n 's/^uvicorn==\([0-9.]*\).*/\1/p' services/locks/py313/server-uvicorn.txt)
	get_source equal
	cp -r "$SOURCES/equal" "$SOURCES/slow"
	# The wheel differs, but not the code.
	echo '# The same.' >>"$SOURCES/equal/uvicorn/__init__.py"
	slow_down "$SOURCES/slow/uvicorn/protocols/http/httptools_impl.py"
	measure three --package "uvicorn==$VERSION" --package "$SOURCES/equal" --package "$SOURCES/slow" --rounds 6
}

# get_source NAME: downloads and unpacks the sdist of uvicorn.
get_source() {
	local image
	scripts/setup.sh
	image=$(bash -c 'source scripts/lib/bases.sh && setup_bases' | tail -n1)
	mkdir -p "$SOURCES/$1"
	# shellcheck disable=SC2016 # the container's shell expands it
	"$docker" run --rm --user "$(id -u):$(id -g)" --env HOME=/tmp --volume "$SOURCES/$1:/to" "$image" sh -euc '
		python3 -m venv /tmp/venv
		/tmp/venv/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary uvicorn --dest /tmp "uvicorn==$0"
		tar -xzf /tmp/uvicorn-*.tar.gz --strip-components 1 -C /to' "$VERSION"
}

# slow_down FILE: adds 20 us of work to each request, in a separate function.
slow_down() {
	cat >>"$1" <<-'EOS'


		def _bench_test_burn() -> None:
		    import time

		    end = time.perf_counter_ns() + 20_000
		    while time.perf_counter_ns() < end:
		        pass
	EOS
	sed -i 's/^\( *\)async def run_asgi(.*/&\n\1    _bench_test_burn()/' "$1"
	grep -q '^        _bench_test_burn()' "$1"
}

# measure NAME OPTION...: measures a run and writes its folder to $BATS_FILE_TMPDIR/NAME.
measure() {
	local made
	made=$(scripts/matrix.sh --quiet --controls none "${@:2}" 2>"$BATS_FILE_TMPDIR/$1.log") || {
		cat "$BATS_FILE_TMPDIR/$1.log"
		return 1
	}
	echo "${made%/report.md}" >"$BATS_FILE_TMPDIR/$1"
}

setup() { cd "$BATS_FILE_TMPDIR/project"; }

# verdict A B: prints the verdict of the contrast of services with these in their names.
verdict() {
	grep '"kind": *"contrast"' "$run_folder/verdicts.jsonl" | grep -E "\"a\": *\"uvicorn-asgi-$1-py313-debian\"" |
		grep -E "\"b\": *\"uvicorn-asgi-$2-py313-debian\"" | sed -E 's/.*"verdict": *"([^"]*)".*/\1/'
}

use() { run_folder=$(<"$BATS_FILE_TMPDIR/$1") && cat "$run_folder/report.md"; }

# refused WORDS OPTION...: status 2, and the last line has WORDS; nothing is measured and nothing is left.
refused() {
	local status=2
	[[ $1 != "equal sides"* ]] || status=3
	run "-$status" env BENCH_QUIET=1 scripts/matrix.sh "${@:2}"
	echo "$output"
	[[ ${lines[-1]} == *"$1"* ]]
	[[ $(compgen -G 'results/2*' | wc -l) == 1 && -z $(compgen -G 'results/.packages-*') ]]
}

@test "20 us of extra work are found to be slower, and an equal rebuild shows no difference" {
	use three
	local locked=${VERSION//./-} same slow services
	mapfile -t services < <(python3 -c 'import json, sys; print(*json.load(sys.stdin)["services"], sep="\n")' <"$run_folder/run.json")
	[[ ${#services[@]} == 3 && ${services[0]} == "uvicorn-asgi-$locked-py313-debian" ]]
	same=${services[1]#uvicorn-asgi-} same=${same%-py313-debian} slow=${services[2]#uvicorn-asgi-} slow=${slow%-py313-debian}
	[[ $(verdict "$locked" "$slow") == slower && $(verdict "$same" "$slow") == slower ]]
	# "Not enough data" is fine too: other tests may cause too much noise.
	[[ $(verdict "$locked" "$same") =~ ^(no\ difference\ shown|not\ enough\ data)$ ]]
	busy_host_causes "$run_folder"
	# Images that only this run could use are removed.
	run -0 "$docker" image ls --quiet --filter "reference=bench/uvicorn-asgi-$same-*" --filter "reference=bench/uvicorn-asgi-$slow-*"
	[[ ! $output ]]
}

@test "records and run.json say what was measured, with the wheel's digest" {
	use three
	local wheel
	wheel=$(echo "$run_folder"/packages/py313/2-1/*.whl)
	grep -qF "$(sha256sum "$wheel" | cut -d' ' -f1)" "$run_folder/run.json"
	[[ $(grep -oE '"package": *"uvicorn==[^"]*"' "$run_folder/records.jsonl" | sort -u | wc -l) == 3 ]]
	grep -qE "^- package: uvicorn==$VERSION\+[0-9a-f]{7} on py313: folder .*/slow; wheel [0-9a-f]{12}$" "$run_folder/report.md"
}

@test "a run can be resumed without the source" {
	use three
	mv "$SOURCES" "$SOURCES.away"
	rm -r "$run_folder"/raw/r04
	run scripts/matrix.sh --resume "${run_folder##*/}" --quiet
	mv "$SOURCES.away" "$SOURCES"
	echo "$output"
	((status == 0))
	[[ -n $(compgen -G "$run_folder/raw/r04/*/*/*/*/*/meta.json") ]]
}

@test "what cannot be compared is refused before anything is measured" {
	refused "No matching distribution found for uvicorn==99.*" --package 'uvicorn==99.*'
	refused "equal sides: it is the version that the lock pins" --package "uvicorn==$VERSION"
	cp -r "$SOURCES/equal" same
	refused "equal sides: $SOURCES/equal and ./same give the same files" --package "$SOURCES/equal" --package ./same
	refused "no service of the selection has it" --package "$SOURCES/equal" --stack aiohttp
	echo 'raise SystemError("it will not be built")' >"$BATS_TEST_TMPDIR/setup.py"
	refused "it does not build: SystemError: it will not be built" --package "$BATS_TEST_TMPDIR"
	refused "it needs another Python: >=3.6" --package dataclasses==0.8
}
