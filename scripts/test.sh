#!/usr/bin/env bash
#
# Usage: scripts/test.sh [--setup] [STAGE...]
#
# Runs the project's tests; without a STAGE the first five (as root, six): side by side, but for end-to-end, which begins once
# shell and contract have ended:
#
#   static       shellcheck, shfmt, hadolint, actionlint, ruff, mypy, and that generated files are in step
#   python       unit tests of the Python package (pytest), and its line coverage
#   shell        unit tests of the scripts with fake load tools and a fake Docker (bats), and their line coverage
#   contract     every server once and every framework at least once on one Python, and one service on each other
#                Python, against the contract; which ones is drawn (others: CONTRACT_SEED=N; all: scripts/verify.sh --all)
#   end-to-end   whole runs on real servers, interrupted runs, faults, bad input (bats); a file that fails beside the
#                others and passes alone is reported as flaky
#   swarm        nodes of a Docker swarm on this machine, each a daemon in a network of its own: roles, images, and a run
#                that loses them one after the other (root; bats)
#   machines     not by default, ten minutes: runs on several pairs of nodes, with several load generators, and on two
#                machines without a swarm (root; bats)
#   mutation     not by default: breaks twenty decisions of the code, one at a time, and counts those that the unit
#                tests catch
#
#   --setup      make the machine ready first (scripts/setup.sh --setup)
set -Eeuo pipefail
# shellcheck source=tests/lib/testing.sh
source "${BASH_SOURCE[0]%/*}/../tests/lib/testing.sh"
trap_errors

setup=() stages=()
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--setup) setup=(--setup) ;;
	static | python | shell | contract | end-to-end | swarm | machines | mutation) stages+=("$1") ;;
	*) fail 2 "unknown stage '$1', see --help" ;;
	esac
	shift
done
if ((${#stages[@]} == 0)); then
	stages=(static python shell contract end-to-end)
	((EUID)) || stages+=(swarm)
fi

"$root/scripts/setup.sh" "${setup[@]}"
find_docker
build_tests
failed=() logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
declare -A pid
for stage in "${stages[@]}"; do
	[[ ! $stage =~ ^(end-to-end|machines|mutation)$ ]] || continue
	# What need not end before the end-to-end tests begin goes on beside them, as they mostly wait, and gives way.
	case $stage in
	static) tool_options=(--cpu-shares 64) ;;
	python) tool_options=(--cpu-shares 256 --cidfile "$logs/python.container") ;;
	esac
	run_stage "$stage" >"$logs/$stage.out" &
	pid[$stage]=$! tool_options=()
done
for stage in shell contract; do [[ ! ${pid[$stage]:-} ]] || wait "${pid[$stage]}"; done
python_gives_way
for stage in "${stages[@]}"; do
	[[ $stage =~ ^(static|python|swarm)$ ]] || print_stage "$stage"
done
for stage in python static swarm; do
	[[ ! ${pid[$stage]:-} ]] || { wait "${pid[$stage]}" && print_stage "$stage"; }
done
for stage in "${failed[@]}"; do
	echo "# what failed in stage $stage:"
	grep -E -A8 '^(not ok|FAILED|ERROR|[a-z.]+: )' "$logs/$stage" || tail -n 20 "$logs/$stage"
done
mapfile -t flaky < <(grep -s '^# flaky: ' "$logs/end-to-end")
((${#flaky[@]} == 0)) || printf '%s\n' "${flaky[@]}" "${#flaky[@]} flaky"
printf '%d passed, %d failed\n' $((${#stages[@]} - ${#failed[@]})) "${#failed[@]}"
((${#failed[@]} == 0)) || fail 1 "failed: ${failed[*]}"
