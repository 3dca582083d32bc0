#!/usr/bin/env bash
#
# Usage: tests/faults/run.sh [--seed N] [--moments N] [--subject NAME[,NAME...]] [--events] [--keep FOLDER]
#
# Kills something in a short run at random moments, resumes the run, and judges the result: every planned measurement once, no
# incomplete file accepted, nothing left behind, the right exit status, and a message about what was lost. Prints one line per
# moment and a table at the end; exit status 1 if a run did not survive.
#
#   --moments N      how many (30); subjects take turns, and so do the phases of a run in which a subject exists. 11-20: only
#                    the last ten of twenty
#   --seed N         another seed draws other moments (1)
#   --subject NAME   only these: script, group (all processes of its group), worker, hangup, server, server-worker, loadgen, postgres,
#                    upstream; with a second Docker daemon (root only): daemon (SIGKILL), restart (SIGTERM, then started again)
#   --events         in a run of events instead of two tables: a killed worker, a stop, two containers behind a proxy, a database
#                    that is stopped or paused. Without the subjects server and server-worker, because killing a service cannot
#                    be distinguished from its event
#   --keep FOLDER    keep logs and the runs that did not survive there; the table covers all moments in that folder
#
# The undisturbed run takes half a minute, each moment about a minute; with --events twice as long. Works in a copy of the
# project.
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
# The status tells whether all survived.
in_project table <"${keep:-$work}/judged" || exit 1
