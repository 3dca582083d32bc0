#!/usr/bin/env bats
# The start of a series of fault runs: something is killed at a random moment, nine times, and the run survives (docs/reliability.md).

load ../end_to_end/common

@test "a run survives the kill of each subject at a random moment" {
	run -0 "$BATS_TEST_DIRNAME/../faults/run.sh" --moments 9 --seed "${FAULT_SEED:-1}"
	echo "$output"
	# A moment may come after the end of its phase; it is not counted then.
	[[ ${lines[-1]} =~ ^([5-9])\ moments\ tried,\ ([5-9])\ survived && ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
}
