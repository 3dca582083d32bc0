# shellcheck shell=bash
# One moment of a fault run: starts a run, kills something in it, resumes the run and judges it. Only declares; the entry script sets
# `keep`.
# shellcheck disable=SC2154 # `keep`, and variables of subjects.bash and phases.bash

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"
# shellcheck source=tests/faults/subjects.bash
source "${BASH_SOURCE[0]%/*}/subjects.bash"
# shellcheck source=tests/faults/phases.bash
source "${BASH_SOURCE[0]%/*}/phases.bash"
# shellcheck source=tests/lib/second_daemon.sh
source "${BASH_SOURCE[0]%/*}/../lib/second_daemon.sh"

# Two services with different worker models and two workers each; a table with the database and one with the upstream; two rounds.
selection=(--stack 'uvicorn-asgi,gunicorn-sync-wsgi' --scenario 'db-raw,simple-request-20' --tool wrk --level 8 --rounds 2 --controls none)
# The same services under events: a stop, a killed worker, two containers behind a proxy, a database that is stopped or paused.
select_events() {
	selection=(--stack 'uvicorn-asgi,gunicorn-sync-wsgi' --event 'stop,killed,rolling-behind-nginx,away-database-stopped,away-database-silent' --rounds 1 --controls none)
}
# Noise of the machine must not make windows invalid.
export WORKERS=2 TURN_SECONDS=1 READY_TIMEOUT=120 MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999

# prepare_project: copies the project to `work`, with short warm-ups, and makes the copy the root.
prepare_project() {
	"$root/scripts/setup.sh"
	find_docker
	work=$(mktemp -d)
	[[ ! $keep ]] || mkdir -p "$keep"
	mkdir "$work/project"
	(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --no-dereference --target-directory "$work/project")
	[[ ! -f $root/services/.env ]] || cp "$root/services/.env" "$work/project/services/"
	printf '[defaults]\nwarmup = 0.2\n' >"$work/project/services/matrix.local.toml"
	root=$work/project
	mkdir -p "$root/results"
	: >>"${keep:-$work}/judged"
}
work=''

in_project() { in_tools python3 -m tests.faults "$@"; }

end_faults() {
	end_jobs
	second_daemon_down
	[[ ! $keep ]] || { mkdir -p "$keep" && cp -r "$work"/{uncut,moments,logs} "$keep/" 2>/dev/null; } || true
	[[ ! $work ]] || rm -rf "$work"
}

# end_jobs: sends SIGTERM to all background jobs of this shell, and SIGKILL after 10 s.
end_jobs() {
	local job started up give_up
	read_up
	give_up=$((up + 1000))
	trap '' INT TERM HUP
	mapfile -t started < <(jobs -p)
	for job in "${started[@]}"; do kill -- "-$job" 2>/dev/null || true; done
	for job in "${started[@]}"; do
		while kill -0 -- "-$job" 2>/dev/null && read_up && ((up < give_up)); do sleep 0.05; done
		kill -KILL -- "-$job" 2>/dev/null || true
	done
} 2>/dev/null

# begin_run LOG ARGUMENT...: starts scripts/matrix.sh in the background, in its own process group; sets `script`.
begin_run() {
	began=$(date +%s%N)
	: | tee "$1" >"$1.begun"
	set -m
	(cd "$root" && exec env --default-signal=INT,HUP "${engine[@]}" scripts/matrix.sh "${@:2}") >"$1.out" 2>"$1" </dev/null 4<&- &
	script=$!
	set +m
}
script='' began='' engine=()

# await_script: waits for the script and sets `status`; hides bash's message about a killed job.
await_script() { wait "$script" || status=$?; } 2>/dev/null

# measure_uncut: writes the times of the phases of an undisturbed run to $work/uncut.
measure_uncut() {
	local log=$work/uncut.log status=0 made
	mkdir -p "$work/logs"
	begin_run "$log" "${selection[@]}"
	follow_phases "$log" "$script" >"$work/uncut"
	await_script
	((status == 0)) || { cat "$log" >&2 && fail 1 "a run that nothing disturbs fails; what it said is above"; }
	made=$(run_of "$log")
	rm -rf "${made:?}"
}

# try_moment NUMBER SUBJECT PHASE ENTRY MS: kills SUBJECT in a new run, MS after PHASE begins for the ENTRYth time.
try_moment() {
	local log=$work/logs/$1-$2 number=$1 subject=$2 status=0 tries=0 name='' facts=() resumed=() hit='' victim='' killed='' goes=1
	engine=()
	if is_engine "$subject"; then
		begin_elsewhere "$log"
		begin_run "$log" --resume "$name"
	else
		begin_run "$log" "${selection[@]}"
	fi
	await_phase "$log" "$script" "$3" "$4" "$5"
	strike "$subject"
	await_script
	name=${name:-$(run_of "$log")}
	name=${name##*/}
	facts=("number $number" "subject $subject" "drawn $3" "phase $hit" "victim $victim" "killed_ns ${killed:-0}" "begun_ns $began" "tried $goes" "status $status")
	if [[ ! -s $root/results/$name/plan.jsonl || ! -s $root/results/$name/run.json ]]; then
		# Nothing was planned yet, so there is nothing to resume: start anew.
		rm -rf "${root:?}/results/${name:-none}"
		facts+=("anew yes")
		begin_run "$log.1" "${selection[@]}"
		status=0
		await_script
		resumed+=("$status")
		name=$(run_of "$log.1")
		name=${name##*/}
	else
		cat "$root/results/$name"/{records,events}.jsonl >"$log.records" 2>/dev/null || true
	fi
	while ((tries < 3 && (tries == 0 || status != 0))); do
		status=0
		((++tries))
		begin_run "$log.resumed-$tries" --resume "$name"
		await_script
		resumed+=("$status")
	done
	facts+=("resumed ${resumed[*]}" "run $name")
	count_left "$name"
	printf '%s\n' "${facts[@]}" >"$root/results/$name/fault.txt"
	cp "$log" "$root/results/$name/first.log"
	[[ ! -e $log.records ]] || cp "$log.records" "$root/results/$name/first.jsonl"
	cat "$log".resumed-* >"$root/results/$name/resumed.log"
	in_project judge "$name" | tee "$log.judged" >&2
	tail -n1 "$root/results/$name/fault.json" >>"${keep:-$work}/judged"
	if [[ $keep ]] && ! grep -q ' survived' "$log.judged"; then
		mkdir -p "$keep" && cp -r "$root/results/$name" "$keep/$number-$subject"
	fi
	rm -rf "${root:?}"/results/2*
}

# count_left NAME: adds the numbers of the run's remaining containers, networks, volumes and processes to `facts`.
count_left() {
	local project place processes=0
	project=$(cd "$root" && python3 -c 'import sys; from driver.run import open_run; print(open_run(sys.argv[1]).project)' "$1")
	facts+=("containers $({ on_engine ps --all --quiet --filter "label=com.docker.compose.project=$project" && on_engine ps --all --quiet --filter "label=bench.run=$project"; } | wc -l)")
	facts+=("networks $(on_engine network ls --quiet --filter "label=com.docker.compose.project=$project" | wc -l)")
	facts+=("volumes $(on_engine volume ls --quiet --filter "label=com.docker.compose.project=$project" | wc -l)")
	for place in /proc/[0-9]*/cwd; do [[ ! $place -ef $root ]] || ((++processes)); done
	facts+=("processes $processes")
}

on_engine() { env "${engine[@]}" "$docker" "$@"; }
