#!/usr/bin/env bats
# A slice of the quick preset, from nothing to the report: real servers, real database, all four tools.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	DUET_SECONDS=1 scripts/matrix.sh --preset quick --stack gunicorn-sync-flask,uvicorn-starlette --scenario db-raw 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# Copies of the run.
teardown() { rm -rf results/20000101-*; }

# Eight cells, a window of the null server for each of three tools, and an A/A pair: two windows, two sides.
@test "every cell and control is measured, with all its files" {
	[[ $(count . "$run_folder/plan.jsonl") == 15 ]]
	[[ $(metas "$run_folder" | grep -c '"outcome": "measured"') == 15 ]]
	local file
	for file in tool.json output.txt server.before server.after; do
		[[ $(find "$run_folder/raw" -name "$file" | wc -l) == 15 ]]
	done
	[[ $(find "$run_folder/raw" -name results.bin | wc -l) == 2 ]]
}

@test "the report shows the controls" {
	grep -q '^| gunicorn-sync-flask-py313-debian | db-raw wrk c32 | goodput | ' "$run_folder/report.md"
	[[ $(grep -cE '^\| (ab|hey|wrk) \| plaintext \| c32 \| [0-9,]+ \| 1 of 1 \|$' "$run_folder/report.md") == 3 ]]
}

@test "a plain line for each measurement, none of them drawn over" {
	[[ $(grep -cE '^\[[0-9]+/12\] [^:]+: .+; [0-9]+ not valid, [0-9]+:[0-9]{2} left$' "$BATS_FILE_TMPDIR/log") == 12 ]]
	figures=$(grep -cE '^\[[0-9]+/12\] [^:]+: [0-9,.]+( and [0-9,.]+)? requests/s; ' "$BATS_FILE_TMPDIR/log")
	invalid=$(grep -cE '^\[[0-9]+/12\] [^:]+: invalid: ' "$BATS_FILE_TMPDIR/log") || true
	((figures > 0 && figures + invalid == 12))
	run -1 grep -q $'\r' "$BATS_FILE_TMPDIR/log"
}

@test "records hold good answers and the kernel's own counters" {
	[[ $(count . "$run_folder/records.jsonl") == 15 ]]
	# What other tests take of this machine meanwhile may make some not valid, for no other cause.
	busy_host_causes "$run_folder"
	[[ $(count '"goodput": *[1-9]' "$run_folder/records.jsonl") == 15 ]]
	run -1 grep -q '"server_cpu_s": *null' "$run_folder/records.jsonl"
	grep '"mode": *"solo"' "$run_folder/records.jsonl" >"$BATS_TEST_TMPDIR/solo"
	[[ $(count . "$BATS_TEST_TMPDIR/solo") == 8 ]]
	run -1 grep -Eq '"(database_cpu_s|memory_idle_bytes|start_s|image_bytes|goodput_per_core)": *null' "$BATS_TEST_TMPDIR/solo"
	run -1 grep -q '"memory_peak_bytes": *null' "$run_folder/records.jsonl"
}

@test "each side of a pair asks a database of its own, and is charged with it" {
	grep '"mode": *"duet"' "$run_folder/records.jsonl" | sed -nE 's/.*"database_cpu_s": *([0-9.e-]+).*/\1/p' | sort -g >"$BATS_TEST_TMPDIR/used"
	cat "$BATS_TEST_TMPDIR/used"
	[[ $(count . "$BATS_TEST_TMPDIR/used") == 4 ]]
	# One that nobody asked would have used next to nothing.
	awk '{ used[NR] = $1 } END { exit !(used[1] > used[4] / 4) }' "$BATS_TEST_TMPDIR/used"
}

@test "the run in other forms" {
	scripts/export.sh csv "$run_folder" >"$BATS_TEST_TMPDIR/run.csv"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/run.csv") == 16 ]]
	scripts/export.sh parquet "$run_folder" >"$BATS_TEST_TMPDIR/run.parquet"
	[[ $(head -c 4 "$BATS_TEST_TMPDIR/run.parquet") == PAR1 ]]
	scripts/export.sh gobench "$run_folder" | grep -q '^BenchmarkDbRaw/server=uvicorn/framework=starlette/'
}

@test "a run without pairs has no verdicts to comment on" {
	run -2 scripts/pr-comment.sh "$run_folder"
	[[ $output == *"has no pairs and so no verdicts: measure with --mode duet"* ]]
}

@test "limits and sysctls are read back, as asked" {
	[[ $(find "$run_folder/raw" -name tool.json -exec grep -l '"nofile":16384' {} + | wc -l) == 15 ]]
	[[ $(find "$run_folder/raw" -name tool.json -exec grep -l '"net.ipv4.tcp_tw_reuse":"1"' {} + | wc -l) == 15 ]]
}

@test "the report names both services, and how their base was made" {
	local name row
	for name in gunicorn-sync-flask-py313-debian uvicorn-starlette-py313-debian; do
		# mmdebstrap's words, or those of the image that was pulled.
		row=$(grep -E "^\\| $name \\| [^|]*3\.13[^|]* \\| debian, (mmdebstrap, |Debian GNU/Linux )[^|]+ \\|" "$run_folder/report.md")
		echo "$row"
		[[ $(wc -l <<<"$row") == 1 ]]
	done
}

@test "records and report come out of the raw files alone, byte for byte" {
	cp "$run_folder"/{records.jsonl,report.md,index.html} "$BATS_TEST_TMPDIR/"
	rm "$run_folder"/{records.jsonl,report.md,index.html}
	scripts/report.sh "$run_folder"
	cmp "$run_folder/records.jsonl" "$BATS_TEST_TMPDIR/records.jsonl"
	cmp "$run_folder/report.md" "$BATS_TEST_TMPDIR/report.md"
	cmp "$run_folder/index.html" "$BATS_TEST_TMPDIR/index.html"
}

@test "a lie in the raw output is caught" {
	local record copy=results/20000101-000000-lie
	cp -r "$run_folder" "$copy"
	record=$(find "$copy/raw" -path '*wrk-c32/output.txt' | head -n1)
	sed -i -E 's/^Requests\/sec: .*/Requests\/sec: 999999.99/' "$record"
	scripts/report.sh "$copy"
	grep -q '"cause": *"arithmetic"' "$copy/records.jsonl"
}

@test "what else the host did voids a whole round, by the limits that the run was made with" {
	local copy=results/20000101-000000-noise
	cp -r "$run_folder" "$copy"
	sed -i 's/"MAX_FOREIGN_CPU": "[0-9]*"/"MAX_FOREIGN_CPU": "0"/' "$copy/run.json"
	scripts/report.sh "$copy"
	[[ $(count '"cause": *"host"' "$copy/records.jsonl") == 8 ]]
	# Every cell's, and no pair's and no control's.
	[[ $(grep '"cause": *"host"' "$copy/records.jsonl" | count '"mode": *"solo"' /dev/stdin) == 8 ]]
	[[ $(count '"cause": *"host"' "$run_folder/records.jsonl") == 0 ]]
}

@test "no container of the run is left" {
	[[ -z $(containers_of "$run_folder") ]]
}

@test "what is written belongs to the user who ran the script" {
	[[ $(owners "$run_folder") == "$(id -un)" ]]
}

@test "what ran is named by its content, and a run may be compared with itself" {
	[[ $(grep -cE '"bench/(loadgen|postgres|upstream):latest": "sha256:' "$run_folder/run.json") == 3 ]]
	[[ $(grep -c '"server_limits":{"nofile":"16384","net.core.somaxconn":"16384"}' "$run_folder/records.jsonl") == 12 ]]
	run -0 scripts/compare-runs.sh --check "$run_folder" "$run_folder"
	[[ $output == comparable ]]
}

@test "another plan may not be compared with it" {
	local copy=results/20000101-000000-other
	cp -r "$run_folder" "$copy"
	sed -i 's/"warmup_s": [0-9.]*/"warmup_s": 9.0/' "$copy/plan.jsonl"
	run -1 scripts/compare-runs.sh --check "$run_folder" "$copy"
	[[ $output == *"incompatible: plan.jsonl: as planned vs modified"*"not comparable: "*warmup_s* ]]
	run -2 scripts/compare-runs.sh "$run_folder" "$copy"
	[[ $output == *"20000101-000000-other has the same measurements as "* ]]
}
