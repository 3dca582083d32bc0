# shellcheck shell=bash
# The stages of scripts/test.sh. Each prints the output of its test runner and fails if a test fails. Only declares.
# The caller sets `logs`, a folder.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"
# shellcheck source=tests/lib/end_to_end.sh
source "${BASH_SOURCE[0]%/*}/end_to_end.sh"

logs=''

# A stage that takes longer than this, in minutes, hangs. The stages that run by default, one after the other where they must be,
# and the setup stay below two hours even then.
declare -A limit=([static]=60 [python]=60 [shell]=30 [contract]=30 ["end-to-end"]=45 [swarm]=15 [long]=150 [machines]=90 [mutation]=120)
setup_limit=15

# within MINUTES NAME COMMAND...: runs it; once the time is up, ends it and prints what it was doing.
within() { python3 "$root/tests/support/within.py" $(($1 * 60)) "${@:2}"; }

build_tests() {
	local log
	log=$(mktemp)
	within "$setup_limit" "the tests' image" "$docker" build --quiet --tag bench/tests --build-context loadgen="$root/loadgen" "$root/tests" >"$log" 2>&1 ||
		{ cat "$log" >&2 && fail 1 "the tests' image does not build; its log is above"; }
	rm -f "$log"
}

# run_stage STAGE: runs it, with output to standard output and $logs/STAGE; $logs/STAGE.passed exists only if it passed.
run_stage() {
	local began=$SECONDS
	within "${limit[$1]}" "stage $1" "$root/tests/support/stage.bash" "$1" "$logs" 2>&1 | tee "$logs/$1" || true # no .passed
	printf '# stage %s: %d s\n' "$1" $((SECONDS - began))
}

# print_stage STAGE: prints the output of a stage that ran in the background, or runs it now. Adds to `failed`.
print_stage() {
	if [[ -e $logs/$1.out ]]; then cat "$logs/$1.out"; else run_stage "$1"; fi
	[[ -e $logs/$1.passed ]] || failed+=("$1")
}
failed=()

# print_failed: repeats the failures of each stage in `failed`, and lists flaky files.
print_failed() {
	local stage flaky
	for stage in "${failed[@]}"; do
		echo "# what failed in stage $stage:"
		grep -E -A8 '^(not ok|FAILED|ERROR|[a-z.]+: )' "$logs/$stage" || tail -n 20 "$logs/$stage"
	done
	mapfile -t flaky < <(grep -hs '^# flaky: ' "$logs"/{end-to-end,long})
	((${#flaky[@]} == 0)) || printf '%s\n' "${flaky[@]}" "${#flaky[@]} flaky"
}

# compose ARGUMENT...: runs Compose on the project's own files and settings.
compose() {
	local files=(--env-file "$root/.env")
	[[ ! -f $root/services/.env ]] || files+=(--env-file "$root/services/.env")
	COMPOSE_SERVICES=${compose_services:-bench} "$docker" compose --project-directory "$root" --file "$root/docker-compose.yml" "${files[@]}" "$@"
}

# in_tests COMMAND...: runs it in the tests' image. /full is a disk for tests that fill one: semaphores of other tests are in /dev/shm.
in_tests() {
	local tool_options=("${tool_options[@]}" --tmpfs "/full:size=16m,mode=1777")
	tools_image=bench/tests in_tools "$@"
}

# in_tests_compiled COMMAND...: as in_tests, for many processes that import the same modules: each module is compiled only once.
in_tests_compiled() { in_tests python3 tests/support/compiled.py "$@"; }

# check NAME COMMAND...: prints one TAP line, and the command's output only if it fails.
check() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "ok - $name"
	else
		printf 'not ok - %s\n%s\n' "$name" "$output"
		return 1
	fi
}

test_static() {
	local scripts bad=0
	mapfile -t scripts < <(cd "$root" && grep -rlE '^#!.*\b(ba|da)?sh\b|^# shellcheck shell=' .ci loadgen postgres scripts services upstream tests --include='*' --exclude-dir=samples)
	local tool_options=(--cpu-shares 64)
	check "shellcheck: ${#scripts[@]} scripts" in_tests python3 tests/support/shellcheck_once.py "${scripts[@]}" || bad=1
	check shfmt in_tests shfmt -d "${scripts[@]}" || bad=1
	check "no failure that bash hides" in_tests python3 tests/support/masked_failures.py "${scripts[@]}" || bad=1
	check "hadolint: services, tests" in_tests hadolint services/alpine.Dockerfile services/debian.Dockerfile services/package.Dockerfile tests/Dockerfile || bad=1
	# Packages need no pinned versions (DL3008), because Debian's release determines them.
	check "hadolint: harness" in_tests hadolint --ignore DL3008 --failure-threshold warning "${harness[@]/%//Dockerfile}" registry/Dockerfile || bad=1
	check "actionlint: docs, .github" in_tests actionlint docs/github-actions.yml docs/github-actions-package.yml .github/workflows/pages.yml .github/workflows/tests.yml || bad=1
	check "action.yml has the form of an action" in_tests check-jsonschema --builtin-schema vendor.github-actions action.yml || bad=1
	check "ruff check" in_tests ruff check --no-cache . || bad=1
	check "ruff format" in_tests ruff format --no-cache --check . || bad=1
	check "biome: the page's scripts" in_tests python3 tests/support/lint_page.py || bad=1
	check "mypy --strict" in_tests mypy --strict --cache-dir=/tmp/mypy || bad=1
	check "generated files are what the matrix says" "$root/scripts/generate.sh" --check || bad=1
	check "docker-compose.yml is valid" compose config --quiet || bad=1
	return "$bad"
}

# tests/unit/load first, with high priority: their servers answer at fixed times, so they mostly wait. The others then run with lower
# priority, the longest files first (tests/unit/conftest.py). Each file stays in one process, because its tests share things such as a
# browser. The time limit of a test only ends one that hangs: what it waits for (tests/support/waiting.py) may take half of that.
test_python() {
	local coverage=(python3 tests/support/python_coverage.py) options=(--timeout 600 -p no:cacheprovider) status=0
	tool_options=(--volume "$logs:/coverage" --cpu-shares 4096)
	in_tests_compiled "${coverage[@]}" --quiet "${options[@]}" --numprocesses 4 --dist worksteal tests/unit/load || status=$?
	tool_options+=(--cpu-shares 512)
	in_tests_compiled "${coverage[@]}" --cov-append "${options[@]}" --numprocesses 2 --dist loadfile --no-loadscope-reorder \
		--ignore=tests/unit/load || status=$?
	return "$status"
}

# Two files at a time, the largest first, so that long ones do not start last.
test_shell() {
	local files
	mapfile -t files < <(cd "$root" && ls -S tests/shell/*.bats)
	local tool_options=(--cpu-shares 512)
	in_tests_compiled python3 tests/support/shell_coverage.py tests/support/bats_side_by_side.bash 2 "$file_limit" "${files[@]}"
}

test_mutation() { in_tests python3 -m tests.mutation; }

test_contract() {
	local names sample seed=${CONTRACT_SEED:-1}
	sample=$(in_tests python3 tests/support/contract_sample.py "$seed") || return
	read -r -a names <<<"$sample"
	printf '# services, drawn by seed %s:\n' "$seed"
	printf '#   %s\n' "${names[@]}"
	READY_TIMEOUT=60 "$root/scripts/verify.sh" --quiet "${names[@]}"
}
