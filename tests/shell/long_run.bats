#!/usr/bin/env bats
# How scripts/harness-cost.sh samples the scripts, with a fake run.
# shellcheck disable=SC2317 # the script calls these functions

setup() {
	# shellcheck source=tests/lib/long_run.sh
	source "$BATS_TEST_DIRNAME/../lib/long_run.sh"
	cd "$BATS_TEST_TMPDIR" || return
	root=$PWD work=$PWD
}

@test "each sample has the name of its run, even before the run has printed it" {
	mkdir -p results/old
	touch results/old/meta.json samples
	echo results/old >log
	start_matrix() {
		sleep 1.5
		mkdir results/new && touch results/new/meta.json
		echo results/new >log
		sleep 2.5
	}
	sample_machine() { echo "$2 $3"; }
	# shellcheck disable=SC2034 # long_matrix uses it
	every=1
	long_matrix
	[[ $(sort -u samples) == 'new 1' && $(<run) == "$PWD/results/new" ]]
}

@test "processes of matrix.sh are sampled under its name, those of other scripts are not" {
	mkdir scripts
	printf '%s\n' '#!/usr/bin/env bash' 'sleep 8; :' | tee scripts/matrix.sh >scripts/other.sh
	chmod +x scripts/*.sh
	scripts/matrix.sh 3>&- &
	local pid=$! other
	scripts/other.sh 3>&- &
	other=$!
	# By pid, because other tests run scripts of that name too.
	for _ in {1..50}; do
		run name_scripts
		! grep "^$pid " <<<"$output" >mine || break
		sleep 0.1
	done
	kill "$pid" "$other"
	[[ $(<mine) == "$pid (matrix.sh) "* ]]
	! grep "^$other " <<<"$output" || return 1
}
