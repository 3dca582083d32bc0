#!/usr/bin/env bash
#
# Usage: tests/faults/run.sh [--seed N] [--moments N] [--subject NAME[,NAME...]] [--events] [--keep FOLDER]
#
# Kills something in a short run at moments drawn by the seed, lets the run go on, and judges what came of it: every planned
# measurement once, no half file read as whole, nothing left behind, the right exit status, what was lost is said. Prints a
# line for each moment and a table at the end; exit status 1 where a run did not survive.
#
#   --moments N      how many (30); subjects take turns, and so do the phases of a run in which a subject is there. 11-20: of
#                    twenty those from the eleventh on
#   --seed N         another seed draws other moments (1)
#   --subject NAME   only these: script, group (of its processes), worker, hangup, server, server-worker, loadgen, postgres,
#                    upstream, and with a Docker daemon of its own (root only): daemon (SIGKILL), restart (SIGTERM, and up again)
#   --events         in a run of events in place of two tables: a worker that is killed, a stop, two containers behind a proxy, a
#                    database that is stopped or paused. What kills a service there cannot be told from its event, so that all
#                    other subjects take turns
#   --keep FOLDER    logs, and the runs that did not survive, stay there; the table is of all moments that the folder has
#
# The run takes half a minute, a moment about a minute; those of events twice as long. It works in a copy of the project.
set -Eeuo pipefail
# shellcheck source=tests/faults/moment.bash
source "${BASH_SOURCE[0]%/*}/moment.bash"
trap_errors

besides_servers=script,postgres,worker,loadgen,group,upstream,hangup,daemon,restart
seed=1 moments=30 keep='' wanted=''
while (($#)); do
	case $1 in
	-h | --help) usage && exit ;;
	--events) select_events && wanted=${wanted:-$besides_servers} ;;
	--seed | --moments | --subject | --keep)
		[[ ${2:-} ]] || fail 2 "$1 needs a value"
		case $1 in
		--seed) seed=$2 ;;
		--moments) moments=$2 ;;
		--subject) wanted=$2 ;;
		--keep) keep=$2 ;;
		esac
		shift
		;;
	*) fail 2 "unknown argument '$1', see --help" ;;
	esac
	shift
done
[[ $seed =~ ^[0-9]+$ && $moments =~ ^([1-9][0-9]*-)?[1-9][0-9]*$ ]] || fail 2 "--seed and --moments take numbers"

prepare_project
trap 'end_faults' EXIT
trap 'exit 130' INT TERM HUP
measure_uncut
in_project draw "$seed" "${moments#*-}" "$wanted" <"$work/uncut" >"$work/moments"
while read -r number subject phase entry ms <&4; do
	[[ $moments == *-* && $number -lt ${moments%-*} ]] || try_moment "$number" "$subject" "$phase" "$entry" "$ms"
done 4<"$work/moments"
# Its status says whether all survived.
in_project table <"${keep:-$work}/judged" || exit 1
