# shellcheck shell=bash
# BASH_ENV of shell_coverage.py: every bash writes its trace, lines `+FILE:LINE:COMMAND`, to a file of its own in $TRACES. Of
# bats itself only the process that runs a test does, as it sources what is tested.

if [[ -z ${BASH_XTRACEFD-} && ($0 != */bats* || $0 == */bats-exec-test) ]]; then
	exec {BASH_XTRACEFD}>>"$TRACES/$$"
	PS4='+${BASH_SOURCE-}:${LINENO-}:'
	set -x
fi
