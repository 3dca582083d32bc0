#!/usr/bin/env bats
# A small preset, from the build to the report: real servers, real database, all four tools.

load common

# One line per created or started container: its id and its run. Containers started without Compose have the label bench.run; that of
# Compose may also come from their image.
as_started='{{.Actor.ID}} {{index .Actor.Attributes "bench.run"}} {{index .Actor.Attributes "com.docker.compose.project"}}'

# inspect_started FOLDER: writes containers of runs and their networks, once created and while up, one line of JSON each, to files in
# the folder. All at the same time: some are up for a fraction of a second.
inspect_started() {
	local id run number=0
	while read -r id run; do
		[[ $run == bench-2* ]] || continue
		number=$((number + 1))
		"$docker" inspect --format '{{json .}}' "$id" "${run%% *}_bench" >"$1/$number" 2>/dev/null &
	done
	wait
}

# A sync and an async server in a table in turns and in solo cells, with all four tools, while another program uses the server's CPU
# for 40 % of the time.
setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	any_host
	local hog events inspecting status=0
	cat >>services/matrix.local.toml <<-'TOML'
		[presets.four-tools-of-two]
		title = "Two services in turns, and one of them alone with three tools"
		stacks = ["gunicorn-sync-flask", "uvicorn-asgi"]
		rounds = 1
		turn_rounds = 6
		rate_seconds = 0.5
		duration = 1
		loads = [
		  { scenarios = ["db-raw"], tools = ["wrk"], levels = ["c16", "share50"] },
		  { stacks = ["gunicorn-sync-flask"], scenarios = ["db-raw"], tools = ["wrk", "ab", "hey"], levels = ["c32"], alone = true },
		]
	TOML
	{
		until compgen -G 'results/2*/raw/r01' >/dev/null; do sleep 0.2; done
		exec python3 "$BATS_TEST_DIRNAME/../../calibration/busy.py"
	} 3>&- &
	hog=$!
	mkfifo "$BATS_FILE_TMPDIR/started"
	mkdir "$BATS_FILE_TMPDIR/inspected"
	"$docker" events --filter type=container --filter event=create --filter event=start --format "$as_started" >"$BATS_FILE_TMPDIR/started" 3>&- &
	events=$!
	inspect_started "$BATS_FILE_TMPDIR/inspected" <"$BATS_FILE_TMPDIR/started" 3>&- &
	inspecting=$!
	scripts/matrix.sh --preset four-tools-of-two 2>"$BATS_FILE_TMPDIR/log" || status=$?
	kill "$hog" "$events"
	wait "$inspecting"
	((status == 0)) || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# Removes copies of the run.
teardown() { rm -rf results/20000101-*; }

@test "the database gets its first rows again while a service is connected" {
	local id first rows='SELECT (SELECT count(*) FROM data), (SELECT count(*) FROM world WHERE randomnumber = 1)'
	id=$("$docker" run --detach --rm --read-only --tmpfs /tmp:mode=1777 --tmpfs /var/lib/postgresql/data:mode=1777 \
		--volume "$PWD/postgres/password:/run/secrets/database_password:ro" bench/postgres)
	psql() { "$docker" exec "$id" psql -X --quiet --tuples-only --no-align --dbname bench --command "$1"; }
	until "$docker" exec "$id" ready; do sleep 0.2; done
	first=$(psql "$rows")
	psql "INSERT INTO data (value) VALUES ('x'); UPDATE world SET randomnumber = 1"
	[[ $(psql "$rows") == '1|10000' ]]
	"$docker" exec --detach "$id" psql -X --dbname bench --command 'SELECT pg_sleep(60)'
	"$docker" exec "$id" restore
	[[ $first == '0|'? && $(psql "$rows") == "$first" ]]
	"$docker" exec "$id" ready
	"$docker" rm --force "$id"
}

# Six rounds of two services in turns, six at a common rate, three cells in solo mode, and a window of the null server per tool.
# A service without a common rate has one record for all six.
@test "every cell and control is measured, with all files" {
	local measured without_rate after file
	metas "$run_folder" | grep -v '"outcome": "measured"' || true
	measured=$(metas "$run_folder" | grep -c '"outcome": "measured"')
	echo "$measured measured; not run:"
	grep -oE '"id": *"[^"]*"|"cause": *"not run", *"detail": *"[^"]*"' "$run_folder/records.jsonl" | grep -B1 'not run' || true
	without_rate=$(grep -cE "$rate_unknown" "$run_folder/records.jsonl" || true)
	[[ $(count . "$run_folder/plan.jsonl") == 31 ]] && ((measured + 6 * without_rate == 31))
	for file in tool.json output.txt; do
		# Without windows that were set aside to be loaded again, as those with late responses on a busy machine (w1.late-1).
		diff <(find "$run_folder/raw" -name 'w1.*' -prune -o -name "$file" -printf '%h\n' | sort) <(grep -rl '"outcome": "measured"' "$run_folder/raw" --include=meta.json | xargs dirname | sort)
	done
	# Without steps that were set aside (b1.spoiled-1).
	after=$(find "$run_folder/raw" -regex '.*/b[0-9]+/services/.*-py.*\.after' | wc -l)
	((after + without_rate == 14))
}

@test "every row of the ranking has figures, although another program uses the server's CPU for 40 % of the time" {
	local row figure='[0-9,.]+ \([0-9,.]+ to [0-9,.]+\)' seen='(\| (–|[0-9,.]+ %) )?'
	sed -n '/^## Ranking/,/^## [^R]/p' "$run_folder/report.md"
	for row in uvicorn-asgi gunicorn-sync-flask; do
		[[ $(grep -cE "^\\| [12] \\| $row \\| (best|-[0-9.]+ % \\(.*\\)) $seen\\| $figure \\| $figure µs \\| [0-9.]+ MB \\|" "$run_folder/report.md") == 1 ]]
	done
	# Other tests may make the verdict inconclusive; then the interval must say so.
	grep -q '"a": *"gunicorn-sync-flask-py313-debian".*"verdict": *"faster"\|"a": *"uvicorn-asgi-py313-debian".*"verdict": *"slower"' "$run_folder/verdicts.jsonl" ||
		{ grep -q '"verdict": *"no winner"' "$run_folder/verdicts.jsonl" && grep -qE '\| gunicorn-sync-flask \| -[0-9.]+ % \(-[0-9.]+ to \+' "$run_folder/report.md"; }
}

@test "the report shows the controls" {
	[[ $(grep -cE "^\\| (ab|hey|wrk) \\| (plaintext \\| )?c(16|32) \\| ([0-9,]+|${busy_host}[^|]*) \\|" "$run_folder/report.md") == 3 ]]
}

@test "progress is one plain line per step, without redrawing" {
	[[ $(grep -cE '^\[[0-9]+/[0-9]+\] round [0-9], 2 services in turns: db-raw wrk c16: [0-4] of [2-4] windows valid.*; [0-9]+ not valid, [0-9]+:[0-9]{2} left$' "$BATS_FILE_TMPDIR/log") == 6 ]]
	[[ $(grep -cE '^\[[0-9]+/[0-9]+\] [^:]+: ([0-9,.]+ requests/s|invalid: .*); [0-9]+ not valid, [0-9]+:[0-9]{2} left$' "$BATS_FILE_TMPDIR/log") == 7 ]]
	run -1 grep -q $'\r' "$BATS_FILE_TMPDIR/log"
}

@test "records have successful answers and the kernel's counters" {
	# Records may be invalid because other programs use the machine, but for no other cause.
	busy_host_causes "$run_folder"
	grep -vE "$rate_unknown" "$run_folder/records.jsonl" >"$BATS_TEST_TMPDIR/records"
	grep '"mode": *"turns"' "$BATS_TEST_TMPDIR/records" >"$BATS_TEST_TMPDIR/turns"
	grep '"mode": *"solo"' "$BATS_TEST_TMPDIR/records" >"$BATS_TEST_TMPDIR/solo"
	[[ $(count . "$BATS_TEST_TMPDIR/turns") == 12 && $(count . "$BATS_TEST_TMPDIR/solo") == 3 ]]
	[[ $(count '"goodput": *[1-9]' "$BATS_TEST_TMPDIR/records") == $(count . "$BATS_TEST_TMPDIR/records") ]]
	run -1 grep -Eq '"(server_cpu_s|memory_loaded_bytes)": *null' "$BATS_TEST_TMPDIR/records"
	run -1 grep -Eq '"(database_cpu_s|memory_idle_bytes|start_s|image_bytes|goodput_per_core)": *null' "$BATS_TEST_TMPDIR/solo"
	# Services in turns share one database; its CPU time is charged to the service whose turn it was, so each must have some.
	run -1 grep -Eq '"database_cpu_s": *(null|0\.0[,}])' "$BATS_TEST_TMPDIR/turns"
}

@test "turns of the two services do not overlap" {
	local window windows=("$run_folder"/raw/r*/b1/db-raw/wrk-c16/w1)
	((${#windows[@]} >= 6))
	for window in "${windows[@]}"; do
		turns_of "$window" >"$BATS_TEST_TMPDIR/turns"
		(($(wc -l <"$BATS_TEST_TMPDIR/turns") >= 4))
		awk -F ', *' '$1 < ended { exit 1 } { ended = $2 }' "$BATS_TEST_TMPDIR/turns"
	done
}

# turns_of WINDOW: prints begin and end of all turns of both services in ns, sorted by time.
turns_of() {
	cat "$1"/*/tool.json | grep -oE '"began_ns": *[0-9]+, *"load_ns": *[0-9]+, *"drain_ns": *[0-9]+' |
		awk -F '[:,]' '{ printf "%.0f, %.0f\n", $2, $2 + $4 + $6 }' | sort -n
}

@test "the run can be exported to all formats" {
	scripts/export.sh csv "$run_folder" >"$BATS_TEST_TMPDIR/run.csv"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/run.csv") == $(($(count . "$run_folder/records.jsonl") + 1)) ]]
	scripts/export.sh parquet "$run_folder" >"$BATS_TEST_TMPDIR/run.parquet"
	[[ $(head -c 4 "$BATS_TEST_TMPDIR/run.parquet") == PAR1 ]]
	scripts/export.sh gobench "$run_folder" | grep -q '^BenchmarkDbRaw/server=uvicorn/framework=asgi/'
}

@test "limits and sysctls are read back as requested" {
	local setting
	for setting in '"nofile":16384' '"net.ipv4.tcp_tw_reuse":"1"'; do
		[[ -z $(find "$run_folder/raw" -name tool.json -exec grep -L "$setting" {} +) ]]
	done
}

@test "the report names both services and the origin of their base image" {
	local name row
	for name in gunicorn-sync-flask-py313-debian uvicorn-asgi-py313-debian; do
		# The base was built by mmdebstrap, or pulled.
		row=$(grep -E "^\\| $name \\| [^|]*3\.13[^|]* \\| debian, (mmdebstrap, |Debian GNU/Linux )[^|]+ \\|" "$run_folder/report.md")
		echo "$row"
		[[ $(wc -l <<<"$row") == 1 ]]
	done
}

@test "records and report can be rebuilt from raw files alone, byte for byte" {
	cp "$run_folder"/{records.jsonl,report.md,index.html} "$BATS_TEST_TMPDIR/"
	rm "$run_folder"/{records.jsonl,report.md,index.html}
	scripts/report.sh "$run_folder"
	cmp "$run_folder/records.jsonl" "$BATS_TEST_TMPDIR/records.jsonl"
	cmp "$run_folder/report.md" "$BATS_TEST_TMPDIR/report.md"
	cmp "$run_folder/index.html" "$BATS_TEST_TMPDIR/index.html"
}

@test "an edited figure in the raw output is detected" {
	local record copy=results/20000101-000000-lie
	cp -r "$run_folder" "$copy"
	record=$(find "$copy/raw" -path '*wrk-c32/*/output.txt' | head -n1)
	sed -i -E 's/^Requests\/sec: .*/Requests\/sec: 999999.99/' "$record"
	scripts/report.sh "$copy"
	grep -q '"cause": *"arithmetic"' "$copy/records.jsonl"
	[[ $(count '"cause": *"changed","detail": *"output.txt was edited' "$copy/records.jsonl") == 1 ]]
}

@test "other programs' CPU time invalidates solo windows but not turns, by the limits recorded in the run" {
	local copy=results/20000101-000000-noise
	cp -r "$run_folder" "$copy"
	sed -i 's/"MAX_FOREIGN_CPU": "[0-9]*"/"MAX_FOREIGN_CPU": "0"/' "$copy/run.json"
	scripts/report.sh "$copy"
	# All three solo cells, no turns and no controls.
	[[ $(grep '"cause": *"host"' "$copy/records.jsonl" | count '"mode": *"solo"' /dev/stdin) == 3 ]]
	[[ $(grep '"cause": *"host"' "$copy/records.jsonl" | grep -cE '"mode": *"(turns|null)"') == 0 ]]
	[[ $(count '"cause": *"host"' "$run_folder/records.jsonl") == 0 ]]
}

@test "every container of the run was confined from its creation on" {
	local inspected=$BATS_TEST_TMPDIR/inspected name
	# Without containers that other tests have started meanwhile.
	grep -rhF -e "$PWD/results" -e "bench-${run_folder##*/}-" "$BATS_FILE_TMPDIR/inspected" | sort -u >"$inspected"
	for name in '"com.docker.compose.service":"'{gunicorn-sync-flask-py313-debian,uvicorn-asgi-py313-debian,postgres,upstream,null,loadgen}'"' '"bench.run":"bench-'; do
		grep -qF "$name" "$inspected" || { echo "not caught: $name" && return 1; }
	done
	run confined < <(printf '[%s]' "$(paste -sd, "$inspected")")
	echo "$output"
	[[ $status == 0 && $output == [1-9]*' containers are confined' ]]
}

@test "no service sends again what it sent in its turn, which would count in the next one's" {
	local services
	# Compose's label of the service is also on its image, which other containers use.
	services=$(cat "$BATS_FILE_TMPDIR/inspected"/* | grep -F '"com.docker.compose.service":"uvicorn-asgi-py313-debian"' | grep -F com.docker.compose.oneoff)
	[[ -n $services && -z $(grep -vF '"net.ipv4.tcp_early_retrans":"0"' <<<"$services") ]]
}

@test "containers in the run's resolved Compose file are confined" {
	local containers
	run -0 confined < <("$docker" compose --file "$run_folder/compose.yml" --profile '*' config --format json)
	containers=$(grep -o '^[0-9]*' <<<"$output")
	((containers >= 6))
}

@test "the bill of materials of an image lists the packages pinned in its lock, and Debian's packages" {
	local version bill=results/sbom/uvicorn-asgi-py313-debian.cdx.json
	scripts/sbom.sh uvicorn-asgi-py313-debian
	version=$(sed -n 's/^uvicorn==\([^ ]*\).*/\1/p' services/locks/py313/server-uvicorn.txt)
	grep -qF "\"purl\": \"pkg:pypi/uvicorn@$version\"" "$bill"
	grep -qF '"purl": "pkg:deb/debian/libc6@' "$bill"
	grep -qF "$(<"$run_folder/raw/services/uvicorn-asgi-py313-debian/image.id")" "$bill"
	run -2 scripts/sbom.sh no-such-service
	[[ ${lines[-1]} == *'there is no image bench/no-such-service: scripts/verify.sh no-such-service builds it' ]]
}

@test "the base of an image is recorded, with a digest if it came from a registry" {
	local base
	base=$(<"$run_folder/raw/services/uvicorn-asgi-py313-debian/base.json")
	echo "$base"
	[[ $base =~ ^'{"name": "'[^\"]+':3.13-slim", "id": "sha256:'[0-9a-f]{64}'", "repo_digests": ['.*']}'$ ]]
}

@test "no container of the run is left" {
	[[ -z $(containers_of "$run_folder") ]]
}

@test "all files belong to the user who ran the script" {
	[[ $(owners "$run_folder") == "$(id -un)" ]]
}

@test "images are recorded by id, and a run is comparable with itself" {
	[[ $(grep -cE '"bench/(loadgen|postgres|upstream):latest": "sha256:' "$run_folder/run.json") == 3 ]]
	[[ $(grep -c '"server_limits":{"nofile":"16384","net.core.somaxconn":"16384"}' "$run_folder/records.jsonl") == $(grep -vc '"mode": *"null"' "$run_folder/records.jsonl") ]]
	run -0 scripts/compare-runs.sh --check "$run_folder" "$run_folder"
	[[ $output == comparable ]]
}

@test "a run with a modified plan is not comparable" {
	local copy=results/20000101-000000-other
	cp -r "$run_folder" "$copy"
	sed -i 's/"warmup_s": [0-9.]*/"warmup_s": 9.0/' "$copy/plan.jsonl"
	run -1 scripts/compare-runs.sh --check "$run_folder" "$copy"
	[[ $output == *"incompatible: plan.jsonl: as planned vs modified"*"not comparable: "*warmup_s* ]]
	run -1 scripts/compare-runs.sh "$run_folder" "$copy"
	[[ $output == *"- 20000101-000000-other: not comparable: "*warmup_s* && $output != *"| "* ]]
}
