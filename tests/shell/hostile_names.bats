#!/usr/bin/env bats
# A clone and runs whose names have characters that are special in a shell, a Compose file or a path. No container.

bats_require_minimum_version 1.5.0

load project

# shellcheck disable=SC2016 # must not be expanded
hostile=$'a \'q" $(touch pwned) `touch pwned` *;& \\ -x \u05d0\u202e'

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/$hostile/clone" docs
	cd "$BATS_FILE_TMPDIR/$hostile/clone" || return
	PYTHONPATH=.:$BATS_TEST_DIRNAME/../support python3 - <<-'EOS'
		from pathlib import Path
		from built_runs import write_a_run_of_each_tool
		for number, name in enumerate(("one", "a 'q\" $(touch pwned) `touch pwned`; \\ x", "-x")):
		    folder = write_a_run_of_each_tool(Path("results") / name)
		    for output in folder.glob("raw/r*/*/*/*/*/*/output.*"):
		        output.write_bytes(output.read_bytes() + number * b"\n")
	EOS
}

setup() {
	clone=$BATS_FILE_TMPDIR/$hostile/clone
	# shellcheck disable=SC2016
	named='a '\''q" $(touch pwned) `touch pwned`; \ x'
	mkdir -p "$BATS_TEST_TMPDIR/elsewhere"
	cd "$BATS_TEST_TMPDIR/elsewhere" || return
}

teardown() { [[ -z $(find "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" -name 'pwned*') ]]; }

# refused WORDS COMMAND...: status 2 and a single line that has WORDS.
refused() {
	run -2 "${@:2}"
	[[ ${#lines[@]} == 1 && $output == *"$1"* ]] || { echo "$output" && false; }
}

@test "reports, exports and comparisons work in such a clone, with such runs" {
	local name
	for name in one "$clone/results/$named" results/-x; do
		run -0 "$clone/scripts/report.sh" "$name"
		[[ ${lines[-1]} == "results/${name##*/}/index.html" && -s $clone/results/${name##*/}/report.md ]]
	done
	[[ $("$clone/scripts/export.sh" csv "$named" | wc -l) == 5 ]]
	run -0 --separate-stderr "$clone/scripts/compare-runs.sh" one "$named"
	[[ $output == "### Runs side by side"*$'\n\nNo verdict '*': comparable' ]]
	"$clone/scripts/compare-runs.sh" --check "$named" results/-x
}

@test "an unknown run is reported in one line, whatever its name" {
	local name
	# shellcheck disable=SC2016
	for name in -y ../.. '' '$(touch pwned)' $'x\ny'; do
		[[ $name == -* || ! $name ]] || refused "unknown run " "$clone/scripts/matrix.sh" --resume "$name"
		[[ $name == -* || ! $name ]] || refused "unknown run " "$clone/scripts/report.sh" "$name"
		refused "unknown run " "$clone/scripts/export.sh" csv "$name"
	done
	refused "--resume needs the name of a run" "$clone/scripts/matrix.sh" --resume -y
	refused "unknown run " "$clone/scripts/matrix.sh" --resume=-y
	refused "cannot resume '" "$clone/scripts/matrix.sh" --resume "$named"
	refused "cannot resume '" "$clone/scripts/matrix.sh" --resume results/-x
}

@test "shell commands in a selection are treated as unknown names" {
	# shellcheck disable=SC2016
	refused "unknown stack '\$(touch pwned)'" "$clone/scripts/matrix.sh" --list --stack '$(touch pwned)'
	refused "unknown service" "$clone/scripts/verify.sh" ';touch pwned'
	refused "is not lower-case letters" "$clone/scripts/publish.sh" one '../x'
	refused "is not a run with a report" "$clone/scripts/publish.sh" '-x; touch pwned' x
	# shellcheck disable=SC2016
	WORKERS='$(touch pwned)' refused "WORKERS='\$(touch pwned)' is not a whole number" "$clone/scripts/matrix.sh" --list
	# shellcheck disable=SC2016
	NOFILE='a[$(touch pwned)]' refused "is not a number above 0" "$clone/scripts/matrix.sh" --list
}

@test "a path with a colon, which Docker cannot mount, is refused in one line" {
	mkdir -p "$BATS_TEST_TMPDIR/a:b"
	cp -r "$clone" "$BATS_TEST_TMPDIR/a:b/"
	refused "Docker cannot mount a folder with ':' in its path" "$BATS_TEST_TMPDIR/a:b/clone/scripts/report.sh" one
}
