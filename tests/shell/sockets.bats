#!/usr/bin/env bats
# How the sockets of a service are read: from a container beside it; and what is kept where that cannot be.
# shellcheck disable=SC2317 # what the scripts call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/lib/containers.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/containers.sh"
	# shellcheck source=scripts/lib/shutdown.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/shutdown.sh"
	# shellcheck source=scripts/lib/verify.sh
	source "$BATS_TEST_DIRNAME/../../scripts/lib/verify.sh"
	run='a-run' run_dir=$BATS_TEST_TMPDIR/run project=bench-a-run docker=engine
}

# engine WORDS...: notes its call, and says what $says has; fails where $broken is set.
engine() {
	echo "$*" >>"$BATS_TEST_TMPDIR/calls"
	printf '%s\n' "$says"
	[[ ! ${broken:-} ]]
}

kept() { cat "$run_dir/raw/services/app/sockets.json"; }

# reason: what the kept JSON gives as the reason.
reason() { kept | python3 -c 'import json, sys; print(json.load(sys.stdin)["unreadable"])'; }

@test "the reader is in the service's namespaces, and has the one capability that it needs" {
	says='{"options": {}}'
	check_sockets app
	[[ $(kept) == "$says" ]]
	[[ $(<"$BATS_TEST_TMPDIR/calls") == 'run --rm --label bench.run=bench-a-run --pid container:bench-a-run-app-1 --network container:bench-a-run-app-1 --cap-drop ALL --cap-add SYS_PTRACE --user 0:0 --read-only '*'/bench:ro '*' bench sockets' ]]
}

@test "an engine that refuses is a reason, and its quotes and control characters break no JSON" {
	broken=1 says=$'a line before\ndocker: "--pid" is not \\allowed\e[0m'
	check_sockets app
	[[ $(reason) == 'no container can look into the service: docker:  --pid  is not  allowed '* ]]
}

# service_of STAGE: verifies `app` on an engine where all goes well; prints what was done beside the contract.
service_of() {
	save_provenance() { :; }
	save_facts_of() { :; }
	start_service() { :; }
	await_answer() { :; }
	stop_service() { :; }
	check_contract() { echo '{}' >"$run_dir/raw/services/$1/verify.json"; }
	check_sockets() { echo "sockets of $1"; }
	end_under_load() { echo "end of $1"; }
	verify_service app '' "$1"
}

@test "sockets are read in the contract stage alone, and before the service is told to end" {
	run -0 service_of --contract
	[[ $output == $'sockets of app\nend of app' ]]
	rm -r "$run_dir"
	run -0 service_of ''
	[[ $output == '' ]]
}
