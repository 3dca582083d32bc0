# shellcheck shell=bash
# What scripts/harness-cost.sh measures: for each option a function, `cost_whole` without one. Only declares. Each step writes a
# file to `work`, a folder, for `python3 -m tests.cost`.

# shellcheck source=tests/lib/testing.sh
source "${BASH_SOURCE[0]%/*}/testing.sh"
# shellcheck source=tests/lib/build_cost.sh
source "${BASH_SOURCE[0]%/*}/build_cost.sh"
# shellcheck source=tests/lib/sampling.sh
source "${BASH_SOURCE[0]%/*}/sampling.sh"

work='' rebuilt=uvicorn-starlette-py313-debian

# prepare: sets up the machine, and makes `work`.
prepare() {
	"$root/scripts/setup.sh"
	find_docker
	work=$(mktemp -d -p "$root/results" .cost-XXXXXX)
	trap clean_up EXIT
}

clean_up() {
	stop_sampling
	"$docker" image rm "harness-cost/$rebuilt" >/dev/null 2>&1 || true
	rm -rf "$work"
}

# cost_whole: the harness beside its goals.
cost_whole() {
	local spans
	prepare
	copy_services
	start_sampling "$work/samples"
	measure_a_run
	stop_sampling
	prepare_rebuild
	interval setup "$root/scripts/setup.sh"
	interval rebuild rebuild
	measure_the_page
	mapfile -t spans <"$work/spans"
	in_tools python3 -m tests.cost run "$(<"$work/run")" "results/${work##*/}/samples" "${spans[@]}" || exit $?
}

# cost_builds [GLOB]: the build of every service that matches.
cost_builds() {
	prepare
	copy_services
	build_cold "${1:-*-py313-debian}"
	in_tools python3 -m tests.cost builds "results/${work##*/}/builds" "results/${work##*/}/histories" || exit $?
}

# cost_network: the network between swarm nodes.
cost_network() {
	local between said
	need_tools
	cd "$root" || return
	work=$(mktemp -d -p results .cost-XXXXXX)
	trap 'rm -rf "$work"' EXIT
	between=$(python3 -m tests.cost.networks "$work")
	said=$(in_tools python3 -m tests.cost network "$work")
	echo "$said"
	# Later runs include this in their reports.
	{ date -u "+%F, from $between" && echo "$said"; } | save "$root/results/network-cost.txt"
}

# measure_a_run: measures a small run; writes its folder to `run`.
measure_a_run() {
	local status=0
	"$root/scripts/matrix.sh" --preset quick --stack gunicorn-sync-flask,uvicorn-asgi --scenario json --tool wrk,hey \
		--duration 4 --rounds 2 >"$work/report" 2>"$work/log" || status=$?
	((status == 0)) || { cat "$work/log" >&2 && fail 1 "the run that measures the harness failed"; }
	dirname "$(<"$work/report")" >"$work/run"
}

# cost_load [RUN]: the share of load in a run's wall time; without RUN, of a new one with a table of eight services.
cost_load() {
	local report=${1:+$1/report.md}
	"$root/scripts/setup.sh"
	find_docker
	[[ $report ]] || report=$("$root/scripts/matrix.sh" --preset quick --scenario json --tool wrk --level 16)
	in_tools python3 -m tests.cost load "${report%/*}"
}

# measure_the_page: builds a page of 5,000 measurements; appends NAME=0,NS to `spans` for the build, first paint and interaction.
measure_the_page() {
	build_tests
	in_tools python3 -m tests.cost page "results/${work##*/}/page" >>"$work/spans"
	in_tests python3 tests/cost/page_times.py "results/${work##*/}/page/index.html" >>"$work/spans"
}

# prepare_rebuild: builds a service, then adds a line to its app.
prepare_rebuild() {
	quietly rebuild
	echo "# changed $(date +%s%N)" >>"$work/project/services/frameworks/starlette/app.py"
}

rebuild() {
	local compose_services=compose # all services, not only those of `docker-compose up bench`
	copied_compose build "$rebuilt"
}

# interval NAME COMMAND...: appends NAME=BEGIN_NS,END_NS of the command to `spans`.
interval() {
	local begin
	begin=$(date +%s%N)
	quietly "${@:2}"
	echo "$1=$begin,$(date +%s%N)" >>"$work/spans"
}

# quietly COMMAND...: shows the command's output only if it fails; then ends the script.
quietly() {
	local status=0
	"$@" >"$work/log" 2>&1 || status=$?
	((status == 0)) || { cat "$work/log" >&2 && fail 1 "'$*' failed with status $status"; }
}
