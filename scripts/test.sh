#!/usr/bin/env bash
#
# Usage: scripts/test.sh [--setup] [STAGE...]
#
# Runs the project's tests; without a STAGE, the first five (as root, six). They run in parallel, except that end-to-end
# and swarm start after contract:
#
#   static       shellcheck, shfmt, hadolint, actionlint, ruff, mypy, and that generated files are in step
#   python       unit tests of the Python package (pytest), and its line coverage
#   shell        unit tests of the scripts with fake load tools and a fake Docker (bats), and their line coverage
#   contract     every server once and every framework at least once on one Python, and one service on each other
#                Python, against the contract; a random sample (another one: CONTRACT_SEED=N; all: scripts/verify.sh --all)
#   end-to-end   whole runs on real servers, interrupted runs, bad input, your own app (bats); a file that fails beside
#                the others and passes alone is reported as flaky
#   swarm        a Docker swarm of three nodes on this machine, each a daemon in its own network: roles, checks,
#                images (root; bats)
#
# Stages that take longer:
#
#   long         one to two hours: killed runs, hostile services, a disk that fills up, knobs, packages from sources, two refs,
#                a new framework, faults of published comparisons, a repository whose history is judged and bisected (bats)
#   machines     20 minutes: runs on nodes that are lost in the middle, on several pairs of nodes, with several load
#                generators, and on two machines without a swarm (root; bats)
#   mutation     breaks twenty decisions of the code, one at a time, and counts those that the unit tests catch
#
#   --setup      prepare the machine first (scripts/setup.sh --setup)
#
# A stage or test that hangs is ended after a time limit, and says what it was running.
set -Eeuo pipefail
# shellcheck source=tests/lib/testing.sh
source "${BASH_SOURCE[0]%/*}/../tests/lib/testing.sh"
trap_errors

setup=() stages=()
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--setup) setup=(--setup) ;;
	static | python | shell | contract | end-to-end | swarm | long | machines | mutation) stages+=("$1") ;;
	*) fail 2 "unknown stage '$1', see --help" ;;
	esac
	shift
done
if ((${#stages[@]} == 0)); then
	stages=(static python shell contract end-to-end)
	((EUID)) || stages+=(swarm)
fi

# The driver starts some hundred times: its bytecode is made once.
unset PYTHONDONTWRITEBYTECODE
have_python || "$root/scripts/setup.sh" "${setup[@]}"
within "$setup_limit" setup "$root/scripts/setup.sh" "${setup[@]}"
find_docker
build_tests
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
declare -A pid

# start STAGE: runs it in the background; its output is printed later.
start() {
	echo "# stage $1 began"
	{ run_stage "$1" >"$logs/$1.out" && tail -n 1 "$logs/$1.out"; } &
	pid[$1]=$!
}

for stage in "${stages[@]}"; do
	# These may run on beside the end-to-end tests, which mostly wait; they have lower priority.
	case $stage in
	static | python | shell | contract) start "$stage" ;;
	esac
done
# Its containers have the addresses of those of the end-to-end tests.
[[ ! ${pid[contract]:-} ]] || wait "${pid[contract]}"
[[ " ${stages[*]} " != *' swarm '* ]] || start swarm
for stage in "${stages[@]}"; do
	[[ $stage =~ ^(static|python|shell|swarm)$ ]] || print_stage "$stage"
done
for stage in shell python static swarm; do
	# A stage that ended without a result has failed, which print_stage notes.
	[[ ! ${pid[$stage]:-} ]] || { { wait "${pid[$stage]}" || true; } && print_stage "$stage"; }
done
print_failed
printf '%d passed, %d failed\n' $((${#stages[@]} - ${#failed[@]})) "${#failed[@]}"
((${#failed[@]} == 0)) || fail 1 "failed: ${failed[*]}"
