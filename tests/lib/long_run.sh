# shellcheck shell=bash
# Many short measurements in a row, for scripts/harness-cost.sh --long: finds leftovers and growth. Only declares.

# shellcheck source=tests/lib/harness_cost.sh
source "${BASH_SOURCE[0]%/*}/harness_cost.sh"

# cost_long [COUNT [SELECTION...]]: measures a tenth in solo mode, with fresh containers for each, and the rest in turns; prints the
# output of `python3 -m tests.cost long`.
cost_long() {
	local count=${1:-500} alone every levels
	[[ $count =~ ^[1-9][0-9]{1,3}$ && $count -ge 20 ]] || fail 2 "--long takes a number of measurements from 20 to 9999"
	(($# == 0)) || shift
	(($#)) || set -- --stack uvicorn-asgi
	prepare
	trap 'end_jobs 10; clean_up' EXIT
	alone=$(((count + 9) / 10)) every=$((count / 20))
	# Build all images first.
	long_matrix --mode solo --level 1 --rounds 1 "$@"
	sample_machine before '' 0 >"$work/samples"
	levels=$(((alone + 98) / 99))
	long_matrix --mode solo --level "$(seq -s, "$levels")" --rounds $(((alone + levels - 1) / levels)) "$@"
	# Two services that are equal in effect; with five rounds, no table ends early.
	levels=$(((count - alone + 9) / 10))
	long_matrix --vary BACKLOG=2048,2047 --level "$(seq -s, "$levels")" --rounds 5 "$@"
	sample_machine after '' 0 >>"$work/samples"
	cp "$work/samples" "$(<"$work/run")/samples.txt"
	in_tools python3 -m tests.cost long "results/${work##*/}/samples" || exit $?
}

# long_matrix SELECTION...: measures a run and writes its folder to `run`. If `samples` exists, appends a sample after each `every`
# measurements or seconds.
long_matrix() {
	local run='' measured=0 next=1 status=0 pid last=0
	# Empty the log, which still names the previous run.
	: >"$work/log"
	in_background start_matrix "$@"
	pid=$child
	while kill -0 "$pid" 2>/dev/null; do
		run=$(sed -n '/^results\//{s///p;q}' "$work/log")
		measured=$(find "$root/results/${run:-none}" -name meta.json 2>/dev/null | wc -l) || measured=0
		if [[ -e $work/samples ]] && ((measured >= next || (measured && SECONDS - last >= every))); then
			sample_machine during "$run" "$measured" >>"$work/samples"
			next=$((measured + every)) last=$SECONDS
		fi
		sleep 1
	done
	wait "$pid" || status=$?
	echo "$root/results/$run" >"$work/run"
	((status == 0)) || { tail -n 20 "$work/log" >&2 && fail 1 "a run failed; the end of what it said is above"; }
}

# Noise of the machine must not make measurements invalid.
start_matrix() {
	export MAX_STEAL=999 MAX_FOREIGN_CPU=999 MAX_LOADGEN_WAIT=999
	exec "$root/scripts/matrix.sh" --scenario json --tool wrk --duration 1 --controls none "$@" >"$work/report" 2>"$work/log"
}

# sample_machine WHEN RUN MEASURED: prints `name value` lines; leaves out what cannot be read here.
sample_machine() {
	local place key=com.docker.compose.project
	printf 'sample %s %s %s\n' "$1" "$3" "${2:-none}"
	# Do not count containers and networks of other runs.
	"$docker" ps --all --format "{{.Label \"$key\"}}" | count_own containers "$2"
	"$docker" network ls --format "{{.Label \"$key\"}}" | count_own networks "$2"
	"$docker" volume ls --quiet | count volumes
	"$docker" image ls --quiet --all | count images
	"$docker" system df --format 'size of {{.Type}} {{.Size}}'
	place=$("$docker" info --format '{{.DockerRootDir}}')
	# Files come and go while they are counted.
	[[ ! -r $place/overlay2 ]] || { find "$place/overlay2" -maxdepth 1 -mindepth 1 2>/dev/null || true; } | count layers
	[[ ! -r $place/containers ]] || { du -sbc "$place"/{containers,network,volumes} 2>/dev/null || true; } | total "bytes of the engine's folders"
	{ du -sbc "$root"/results/2* 2>/dev/null || true; } | total 'bytes of results'
	[[ ! $2 ]] || sample_processes "$2"
}

count() { printf '%s %d\n' "$1" "$(wc -l)"; }

total() { sed -n "s/^\([0-9]*\)\ttotal$/$1 \1/p"; }

# count_own NAME RUN: counts lines without those of other projects.
count_own() { awk -v name="$1" -v run="bench-$2-" '$0 == "" || index($0, run) == 1 { ++n } END { print name, n + 0 }'; }

# sample_processes RUN: prints private memory (kB) and open files of the run's scripts/measure.sh.
sample_processes() {
	local place memory files
	for place in /proc/[0-9]*; do
		[[ $place/fd/9 -ef $root/results/$1/.writer ]] || continue
		grep --quiet --text 'scripts/measure\.sh' "$place/cmdline" || continue
		memory=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' "$place/status") || continue
		files=$(find "$place/fd" -mindepth 1 | wc -l) || continue
		printf 'process %s %s %s\n' "${place#/proc/}" "$memory" "$files"
	done 2>/dev/null
}
