#!/usr/bin/env bats
# Runs on several machines: whose files and projects are whose in lanes, and what is said of lanes, services and counters that are lost. Docker
# only pretends.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export PROJECT=$BATS_TEST_DIRNAME/../..
	mkdir -p run/lanes/{2,3} run/raw/r01/{a/json/vegeta-x,b}
	printf '%s\n' $'1\t198.18.0.0/25\t1' $'2\t198.18.0.128/26\t2' $'3\t198.18.0.192/26\t3' >run/lanes.tsv
	for n in 1 2 3; do
		folder=run/lanes/$n
		((n > 1)) || folder=run
		printf '%s\n' "server	node-$n	ctx-$n	198.18.64.$n	x" "loadgen	load-$n	lctx-$n	198.18.64.1$n	x" >"$folder/nodes.tsv"
		cp "$folder/nodes.tsv" "$folder/nodes-ever.tsv"
		echo "STEP_ID=step-$n" >"$folder/step.sh"
	done
	cat >head.sh <<-'EOS'
		set -Eeuo pipefail
		source "$PROJECT/scripts/lib/containers.sh"
		source "$PROJECT/scripts/lib/measure.sh"
		source "$PROJECT/scripts/lib/run.sh"
		run=run run_dir=$PWD/run project=bench-run lanes=3 several=yes
		BENCH_SUBNET=198.18.0.0/24
		trap_errors
		find_dependencies() { :; }
	EOS
}

# script <<BASH: what it does with the project's functions.
script() { { echo 'source head.sh' && cat; } >script; }

@test "each lane's step has its own project, nodes, files and part of the subnet" {
	script <<-'EOS'
		measure_step() { source "$run_dir/${lane}step.sh" && echo "$STEP_ID $project ${node_of[server]} ${context_of[loadgen]} $BENCH_SUBNET"; }
		rm run/lanes/3/step.sh
		measure_wave | sort
		echo "after: $project [$lane] $BENCH_SUBNET"
	EOS
	run -0 bash script
	[[ $output == 'step-1 bench-run node-1 lctx-1 198.18.0.0/25
step-2 bench-run-lane2 node-2 lctx-2 198.18.0.128/26
after: bench-run [] 198.18.0.0/24' ]]
}

@test "a lane that fails ends the run, once the others have come to their end" {
	script <<-'EOS'
		measure_step() {
			[[ $lane != lanes/2/ ]] || fail 1 "node ${node_of[server]} (server) is lost"
			sleep 0.5
			save "$run_dir/${lane}finished.env" <<<"id=x"
		}
		measure_wave
		echo "not reached"
	EOS
	run -1 bash script
	[[ $output == *'node node-2 (server) is lost' && ${#lines[@]} == 1 ]]
	[[ -e run/finished.env && -e run/lanes/3/finished.env && ! -e run/lanes/2/finished.env ]]
}

@test "a step that fails because its node is lost says that, and not which command missed it" {
	script <<-'EOS'
		docker=false
		need_room() { :; }
		revive_dependencies() { :; }
		need_readers() { :; }
		measure_solo() { read_at server counters 1; }
		rm run/step.sh run/lanes/3/step.sh
		echo "STEP_DIR=raw STEP_MODE=solo" >>run/lanes/2/step.sh
		measure_wave
	EOS
	run -1 bash script
	[[ $output == *'node node-2 (server) is lost: what it was measuring is not recorded' && ${#lines[@]} == 1 ]]
}

@test "a load generator that does not reach the counters ends the run before it loads, and of a lost node that is said instead" {
	cat >docker <<-'EOS'
		#!/usr/bin/env bash
		case "$*" in
		*counters-reached*) printf '%s\n' "bench: ${*: -1} does not answer: timed out" >&2 && exit 2 ;;
		*inspect*) cat running ;;
		esac
	EOS
	chmod +x docker
	script <<-'EOS'
		docker=$PWD/docker
		need_room() { :; }
		revive_dependencies() { :; }
		rm -f run/step.sh run/lanes/3/step.sh
		echo "STEP_DIR=raw STEP_MODE=solo" >>run/lanes/2/step.sh
		echo $'support\tdata-2\tsctx-2\t198.18.64.22\tx' >>run/lanes/2/nodes.tsv
		measure_wave
	EOS
	echo true >running
	run -1 bash script
	echo "$output"
	[[ $output == *'the load generator on load-2 does not reach the counters: bench: counters-support does not answer: timed out' && ${#lines[@]} == 1 ]]
	echo false >running
	run -1 bash script
	[[ $output == *'node node-2 (server) is lost: what it was measuring is not recorded' && ${#lines[@]} == 1 ]]
}

@test "a database that is gone is the lost node's fault where there is one" {
	script <<-'EOS'
		find_dependencies() { [[ $lane != lanes/3/ ]]; }
		need_nodes() { :; }
		measure_step() { :; }
		measure_wave
	EOS
	run -1 bash script
	[[ $output == *'the database, upstream or load generator of nodes '* && $output == *node-3* ]]
}

@test "to a load generator its lane's files go under the names that they have there, and knees of all lanes with a level that needs them" {
	touch run/{run.json,plan.jsonl,step.jsonl} run/lanes/2/{step.jsonl,step.json,containers.tsv} run/raw/r01/a/json/vegeta-x/knee.json
	script <<-'EOS'
		lane=lanes/2/; list_inputs raw/r01/b | tar --list
	EOS
	run -0 bash script
	[[ $output == $'raw/r01/b/\nrun.json\nplan.jsonl\nstep.jsonl\nstep.json\ncontainers.tsv' ]]
	script <<-'EOS'
		lane=lanes/2/ STEP_KNEE=yes; list_inputs raw/r01/b | tar --list
	EOS
	run -0 bash script
	[[ $output == *raw/r01/a/json/vegeta-x/knee.json* ]]
	script <<-'EOS'
		list_inputs raw/r01/b | tar --extract --to-stdout step.json
	EOS
	echo of-the-first >run/step.json
	run -0 bash script
	[[ $output == of-the-first ]]
}

@test "what all lanes of any call have left is removed from their own nodes" {
	script <<-'EOS'
		remove_from_nodes() { echo "$project $(contexts_ever | xargs)"; }
		lanes=1
		remove_lanes | sort
		echo "$project"
	EOS
	run -0 bash script
	[[ $output == 'bench-run-lane2 ctx-2 lctx-2
bench-run-lane3 ctx-3 lctx-3
bench-run' ]]
}

@test "a service that gave no answer, and answers on its own machine, was lost by the network" {
	cat >docker <<-'EOS'
		#!/usr/bin/env bash
		[[ $* == *' exec bench-run-lane2-counters-server curl '*'/b:8080/' || $* != *curl* ]]
	EOS
	chmod +x docker
	mkdir -p run/step/services
	for name in a b; do echo 10 >run/step/services/$name.status; done
	echo 0 >run/step/services/c.status
	script <<-'EOS'
		docker=$PWD/docker
		enter_lane 2
		dir=$run_dir/step facts=()
		note_unreached_of_block
		rm "$dir"/services/b.status
		note_unreached_of_block
		note_unreached b
		printf '%s\n' "${facts[@]}"
	EOS
	run -0 bash script
	[[ $output == $'unreached=b\nunreached=b' ]]
}
