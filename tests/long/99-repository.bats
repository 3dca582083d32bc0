#!/usr/bin/env bats
# A repository of uvicorn with eight commits, of which one does not build and one slows each request: action.yml judges a pull
# request, and a bisection finds the commit.

load ../end_to_end/common
load ../support/runner

setup_file() {
	export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	any_host
	copy_project "$BATS_FILE_TMPDIR/project"
	make_repository "$BATS_FILE_TMPDIR/uvicorn"
	cd "$BATS_FILE_TMPDIR/project" || return
	"$docker" run --rm --network none --volume "$PWD:/bench:ro" --workdir /bench bench/tests \
		python3 tests/support/action_steps.py action.yml 'selection=--controls none --rounds 6' fail-on=slower:5% max-time=10 \
		>"$BATS_FILE_TMPDIR/steps"
	git clone --quiet --depth 2 --branch request "file://$BATS_FILE_TMPDIR/uvicorn" "$BATS_FILE_TMPDIR/workspace"
}

# make_repository FOLDER: commits v1 to v8, from the sdist of the release that the lock pins; branch request merges v6 into v5.
make_repository() {
	local version python cycle=uvicorn/protocols/http/httptools_impl.py number
	version=$(sed -n 's/^uvicorn==\([^ ]*\) .*/\1/p' services/locks/py313/server-uvicorn.txt)
	python=$(sed -n 's/^LOCAL_PYTHON_IMAGE=//p' services/.env 2>/dev/null) || true
	mkdir "$1" && cd "$1" || return
	"$docker" run --rm "${python:-python}:3.13-slim" sh -c "python3 -m venv /tmp/venv && /tmp/venv/bin/pip download --quiet \
		--disable-pip-version-check --no-deps --no-binary uvicorn --dest /tmp/sdist uvicorn==$version && cat /tmp/sdist/*" |
		tar -xz --strip-components 1
	git init --quiet --initial-branch main
	for number in 1 2 3 4 5 6 7 8; do
		echo "$number" >notes
		case $number in
		4) sed -i.kept 's|^readme = .*|readme = "gone.md"|' pyproject.toml ;;
		5)
			mv pyproject.toml.kept pyproject.toml
			echo '# Faster than ever.' >>"$cycle"
			;;
		6)
			sed -i 's/^    async def run_asgi.*/&\n        _bench_test_burn()/' "$cycle"
			printf '%s\n' 'def _bench_test_burn() -> None:' '    import time' '    end = time.perf_counter_ns() + 60_000' \
				'    while time.perf_counter_ns() < end:' '        pass' >>"$cycle"
			;;
		esac
		git add --all --force && git commit --quiet --message "change $number" && git tag "v$number"
	done
	git switch --quiet --create request v5
	git merge --quiet --no-ff --message merge v6
	git switch --quiet main
}

setup() {
	any_host
	cd "$BATS_FILE_TMPDIR/project"
	before=$(everything)
}

# everything: prints the state that must not change.
everything() {
	git -C "$BATS_FILE_TMPDIR/uvicorn" status --short --branch
	git -C "$BATS_FILE_TMPDIR/uvicorn" worktree list
	"$docker" ps --all --quiet --filter "label=com.docker.compose.project.working_dir=$PWD"
}

@test "the action judges a slow pull request: a comment, and a status that fails it" {
	local status=0 outputs
	cd "$BATS_FILE_TMPDIR/workspace"
	mkdir "$BATS_TEST_TMPDIR/runner"
	GITHUB_REF=refs/pull/1/merge run_action "$BATS_FILE_TMPDIR/project" "$BATS_TEST_TMPDIR/runner" "$BATS_FILE_TMPDIR/steps" || status=$?
	cat "$BATS_TEST_TMPDIR/runner/"*
	((status == 1))
	outputs=$(<"$BATS_TEST_TMPDIR/runner/results")
	[[ $outputs == "run=$BATS_FILE_TMPDIR/project/results/"*'verdict=slower' ]]
	grep -q '^### 1 comparison: 1 slower' "$BATS_TEST_TMPDIR/runner/summary"
	grep -qF -- '`--fail-on slower:5%`: failed, 1 violation.' "$BATS_TEST_TMPDIR/runner/summary"
	cd "$BATS_FILE_TMPDIR/project"
	[[ $(everything) == "$before" ]]
}

@test "the bisection finds the slow commit, past one that does not build and those that change nothing" {
	local slow
	slow=$(git -C "$BATS_FILE_TMPDIR/uvicorn" rev-parse v6)
	scripts/bisect.sh v1 v8 --package "$BATS_FILE_TMPDIR/uvicorn" --stack uvicorn-asgi --scenario json --rounds 6 | tee "$BATS_TEST_TMPDIR/said"
	grep -qE '^[0-9a-f]+ change 8: bad: slower, -' "$BATS_TEST_TMPDIR/said"
	grep -qE '^[0-9a-f]+ change 4: skip: it does not build: ' "$BATS_TEST_TMPDIR/said"
	grep -qE '^[0-9a-f]+ change 5: good: (equal|no winner|slower|faster), ' "$BATS_TEST_TMPDIR/said"
	grep -qx "$slow is the first bad commit" "$BATS_TEST_TMPDIR/said"
	[[ $(tail -n1 "$BATS_TEST_TMPDIR/said") =~ ^[0-9a-f]+\ change\ 6:\ bad:\ slower,\ -.*\;\ results/ ]]
	[[ $(everything) == "$before" ]]
}
