#!/usr/bin/env bats
# What scripts/harness-cost.sh samples of the scripts, with a run that only pretends.
# shellcheck disable=SC2317 # what the script calls

setup() {
	# shellcheck source=tests/lib/long_run.sh
	source "$BATS_TEST_DIRNAME/../lib/long_run.sh"
	cd "$BATS_TEST_TMPDIR" || return
	root=$PWD work=$PWD
}

@test "each sample of a run has its name, also before it has said it" {
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

@test "the processes of matrix.sh are sampled under its name, and no other bash is" {
	mkdir scripts
	printf '%s\n' '#!/usr/bin/env bash' 'sleep 8; :' | tee scripts/matrix.sh >scripts/other.sh
	chmod +x scripts/*.sh
	scripts/matrix.sh 3>&- &
	local pid=$! other
	scripts/other.sh 3>&- &
	other=$!
	# Other tests have scripts of that name too.
	for _ in {1..50}; do
		run name_scripts
		! grep "^$pid " <<<"$output" >mine || break
		sleep 0.1
	done
	kill "$pid" "$other"
	[[ $(<mine) == "$pid (matrix.sh) "* ]]
	! grep "^$other " <<<"$output" || return 1
}
