# shellcheck shell=bash
# BASH_ENV of shell_coverage.py: every bash writes its trace, lines `+FILE:LINE:COMMAND`, to its own file in $TRACES. Of bats' own
# processes, only the one that runs a test is traced, because it may source what is tested.

if [[ -z ${BASH_XTRACEFD-} && ($0 != */bats* || $0 == */bats-exec-test) ]]; then
	exec {BASH_XTRACEFD}>>"$TRACES/$$"
	PS4='+${BASH_SOURCE-}:${LINENO-}:'
	set -x
fi
