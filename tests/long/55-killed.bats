#!/usr/bin/env bats
# A run whose script is killed during verification and during load, at random moments ($KILL_SEED): nothing of it keeps running, and
# --resume finishes it. All tests share one run: in its first call no service answers, the next three calls are killed, and in the
# last one the database is. (tests/faults/run.sh kills every kind of process, at any number of moments.)

load ../end_to_end/common

# Three rounds of one table: six windows.
setup_file() {
	local status=0
	export KILL_SEED=${KILL_SEED:-$((RANDOM % 1000))} TURN_SECONDS=1
	copy_project "$BATS_FILE_TMPDIR/project"
	READY_TIMEOUT=0 scripts/matrix.sh --stack 'uvicorn-asgi,aiohttp' --scenario json --tool wrk --level 8 --rounds 3 --controls none \
		>"$BATS_FILE_TMPDIR/said" 2>"$BATS_FILE_TMPDIR/first.log" || status=$?
	echo "$status" >"$BATS_FILE_TMPDIR/status"
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	RANDOM=$((KILL_SEED + BATS_TEST_NUMBER))
	log=$BATS_FILE_TMPDIR/log
	run_folder=$(the_run)
}

# go_on_until SECONDS COMMAND...: resumes the run in the background, in its own process group, until the command prints something,
# and a random time of up to SECONDS longer. Sets `script`.
go_on_until() {
	local i wait_ms
	touch "$BATS_FILE_TMPDIR/begin"
	set -m
	# Without --default-signal, a shell in the background would start it with the signal ignored.
	env --default-signal=INT,HUP scripts/matrix.sh --resume "$run_folder" >/dev/null 2>"$log" 3>&- &
	script=$!
	set +m
	for ((i = 0; i < 900; i++)); do
		[[ ! $("${@:2}") ]] || break
		sleep 0.1
	done
	((i < 900))
	wait_ms=$((RANDOM % ($1 * 1000)))
	echo "seed $KILL_SEED: $wait_ms ms later"
	sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
}

verifying() { "$docker" ps --quiet --filter "label=com.docker.compose.project.working_dir=$PWD/$run_folder" --filter label=com.docker.compose.service=aiohttp-py313-debian; }

loading() { find "$run_folder/raw" -name .output.txt.tmp -newer "$BATS_FILE_TMPDIR/begin"; }

# nothing_left [SECONDS]: the run's lock is free within SECONDS (10), and then no container, network or process of it is left.
nothing_left() {
	flock --timeout "${1:-10}" "$run_folder/.writer" true
	"$docker" ps --all --filter "label=com.docker.compose.project.working_dir=$PWD/$run_folder"
	"$docker" network ls --filter "name=bench-${run_folder##*/}-"
	[[ -z $(containers_of "$run_folder") && -z $("$docker" network ls --quiet --filter "name=bench-${run_folder##*/}-") ]]
}

@test "if no service answers, the run ends with status 1 and says so" {
	cat "$BATS_FILE_TMPDIR/first.log"
	[[ $(<"$BATS_FILE_TMPDIR/status") == 1 && $(<"$BATS_FILE_TMPDIR/said") == "$run_folder/report.md" ]]
	[[ $(tail -n1 "$BATS_FILE_TMPDIR/first.log") == "matrix.sh: none of the 2 services could be measured; report.md says why; what is measured is kept in $run_folder; scripts/matrix.sh --resume ${run_folder##*/} continues it" ]]
	[[ $(metas "$run_folder") == '' ]]
	nothing_left
}

@test "the services are tried again, and the script is killed during verification" {
	go_on_until 2 verifying
	kill -KILL "$script"
	nothing_left
	grep -qE '^2 services that failed are tried again: (aiohttp|uvicorn-asgi)-py313-debian, (aiohttp|uvicorn-asgi)-py313-debian$' "$log"
	[[ -z $(find "$run_folder/raw/services" -mindepth 2 -maxdepth 2 -name failure.json) ]]
}

@test "a second writer is refused, and the script's process group is killed under load" {
	go_on_until 2 loading
	run -2 scripts/matrix.sh --resume "$run_folder"
	[[ ${#lines[@]} == 1 && $output == "matrix.sh: ${run_folder##*/} is being measured since "*" by process $script: wait for it, or end it (kill $script)" ]]
	kill -KILL -- "-$script"
	nothing_left
}

@test "a hangup ends a run like an interrupt" {
	local status=0
	go_on_until 1 loading
	kill -HUP "$script"
	wait "$script" || status=$?
	cat "$log"
	((status == 130))
	nothing_left 1
	[[ $(tail -n1 "$log") == "interrupted; what is measured is kept in $run_folder; scripts/matrix.sh --resume ${run_folder##*/} continues it" ]]
}

@test "if its database is killed, the resumed run recovers and ends with each measurement once" {
	local status=0
	go_on_until 1 loading
	"$docker" kill "$("$docker" ps --quiet --filter "label=com.docker.compose.project.working_dir=$PWD/$run_folder" --filter label=com.docker.compose.service=postgres)"
	wait "$script" || status=$?
	cat "$log"
	((status == 0))
	grep -qx 'postgres ended during the run: started again' "$log"
	[[ $(count 'to be measured again, because postgres ended during it' "$log") == $(find "$run_folder/raw" -name 'b*.lost-1' | wc -l) ]]
	[[ $(metas "$run_folder" | grep -c '"outcome": "measured"') == 6 ]]
	[[ $(metas "$run_folder" | grep -oE '"id": "[^"]*"' | sort -u | wc -l) == 6 && $(count . "$run_folder/plan.jsonl") == 6 ]]
	[[ $(count '"outcome": *"measured"' "$run_folder/records.jsonl") == 6 ]]
	nothing_left 1
}
