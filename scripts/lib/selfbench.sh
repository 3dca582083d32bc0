# shellcheck shell=bash
# What scripts/bench-self.sh does, in the order in which it does it. Only declares; the caller sets `work`.

# shellcheck source=scripts/lib/testing.sh
source "${BASH_SOURCE[0]%/*}/testing.sh"
# shellcheck source=scripts/lib/selfbuilds.sh
source "${BASH_SOURCE[0]%/*}/selfbuilds.sh"

work='' sampler=''

clean_up() {
	stop_sampling
	rm -rf "$work"
}

start_sampling() {
	sample >"$work/samples" &
	sampler=$!
}

stop_sampling() {
	[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true
	sampler=''
}

sample() {
	local ticks
	while :; do
		ticks=$(harness_ticks)
		printf '%s000 %s\n' "${EPOCHREALTIME/./}" "$ticks"
		sleep 0.5
	done
}

# CPU ticks so far of the scripts and of Docker's own processes, whoever started them.
harness_ticks() {
	{ cat /proc/[0-9]*/stat 2>/dev/null || true; } | sed -nE 's/^[0-9]+ \((matrix\.sh|docker|dockerd|docker-compose|containerd|containerd-shim[^)]*)\) //p' |
		awk '{ ticks += $12 + $13 } END { print ticks + 0 }'
}

# measure_a_run: a small one; prints its name.
measure_a_run() {
	local report
	report=$("$root/scripts/matrix.sh" --preset quick --stack gunicorn-sync-flask,uvicorn-asgi --scenario json --tool wrk,hey \
		--duration 4 --rounds 2 2>"$work/log") || { cat "$work/log" >&2 && fail 1 "the run that measures the harness failed"; }
	basename "${report%/report.md}"
}

# measure_the_page: one of 5,000 measurements; prints NAME=0,NS for its making, its first picture and an interaction.
measure_the_page() {
	build_tests
	in_tools python3 -m tests.cost page "results/${work##*/}/page"
	in_tests python3 tests/cost/page_times.py "results/${work##*/}/page/index.html"
}

# prepare_rebuild: one service as it is, then a line more in its app.
prepare_rebuild() {
	local status=0
	rebuild >"$work/log" 2>&1 || status=$?
	((status == 0)) || { cat "$work/log" >&2 && fail 1 "the service does not build"; }
	echo "# changed $(date +%s%N)" >>"$work/project/services/frameworks/starlette/app.py"
}

rebuild() { copied_compose build uvicorn-starlette-py313-debian; }

# interval NAME COMMAND...: prints NAME=BEGIN_NS,END_NS of a quiet command.
interval() {
	local name=$1 begin
	shift
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	echo "$name=$begin,$(date +%s%N)"
}
