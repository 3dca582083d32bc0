#!/usr/bin/env bats
# scripts/swarm.sh with a fake Docker that has contexts of three nodes and one that does not answer.

bats_require_minimum_version 1.5.0
load project

setup() {
	copy_project "$BATS_TEST_TMPDIR/project"
	cd "$BATS_TEST_TMPDIR/project" || return
	mv "$BENCH_DOCKER" "$BENCH_DOCKER.plain"
	mv "$BENCH_DOCKER.source" "$BENCH_DOCKER.plain.source"
	cat >"$BENCH_DOCKER" <<-'EOS'
		#!/usr/bin/env bash
		# managers: those of NODES that answer as managers; WRONG: the node whose images are others.
		set -euo pipefail
		echo "$*" >>"$0.calls"
		here=default
		[[ $1 != --context ]] || { here=$2 && shift 2; }
		case "$1 $2" in
		'context ls') printf '%s\n' default one two three dead ;;
		'info --format')
			case $here in
			default) echo ' false' ;;
			dead) exit 1 ;;
			*) [[ " $MANAGERS " != *" $here "* ]] && echo "id-$here false" || echo "id-$here true" ;;
			esac
			;;
		'node ls') [[ $here != "${BROKEN:-}" ]] && printf 'id-%s\n' one two three ;;
		'node inspect') cat "$0.nodes" ;;
		'node update') [[ ${!#} != nobody ]] ;;
		'image inspect')
			case $* in
			*RepoDigests*) echo "registry.example.org/x/${*: -1:1}" | sed 's|.*/x/\(.*\):[^:]*$|["registry.example.org/x/\1@sha256:1"]|' ;;
			*RootFS*) [[ $here != "${WRONG:-}" && ! ( $here != default && ! -e $0.pulled-$here ) ]] && echo layers || echo others ;;
			*) exec "$0.plain" "$@" ;;
			esac
			;;
		'pull --quiet') touch "$0.pulled-$here" ;;
		tag* | push*) ;;
		*) exec "$0.plain" "$@" ;;
		esac
	EOS
	chmod +x "$BENCH_DOCKER"
	cat >nodes.py <<-'EOS'
		import json
		from swarm_facts import inspected
		print(json.dumps([inspected("one", "support"), inspected("two", "loadgen"), inspected("three", "server")]))
	EOS
	PYTHONPATH=$BATS_TEST_DIRNAME/../support python3 nodes.py >"$BENCH_DOCKER.nodes"
	export MANAGERS='one two'
}

called() { grep -c -e "$1" "$BENCH_DOCKER.calls" || true; }

@test "which context is whose is found out, beside one that does not answer" {
	run -0 scripts/swarm.sh roles
	[[ ${#lines[@]} == 3 && ${lines[0]} == 'support one one 198.18.64.9 2 CPUs, 8.0 GiB, linux/x86_64' ]]
	[[ $output == *"server three three "* ]]
	# Nothing of it stays beside the results.
	[[ $(ls -A results) == '' ]]
}

@test "another manager is asked where the first one fails, and nothing is done without one" {
	BROKEN=one run -0 scripts/swarm.sh label three server
	[[ $(called '^--context two node update --label-add bench.role=server three$') == 1 ]]
	MANAGERS='' run -1 scripts/swarm.sh roles
	[[ $output == *"no Docker context reaches a manager"* && ${#lines[@]} == 1 ]]
	MANAGERS=one BROKEN=one run -1 scripts/swarm.sh roles
	[[ $output == *"no Docker context reaches a manager"* ]]
}

@test "a node has one role or several, or none; what is no role is refused before the swarm is told" {
	scripts/swarm.sh label one support loadgen
	[[ $(called 'node update --label-add bench.role=loadgen+support one$') == 1 ]]
	scripts/swarm.sh label one
	[[ $(called 'node update --label-rm bench.role one$') == 1 ]]
	run -2 scripts/swarm.sh label one sever
	[[ $output == *"unknown role 'sever'"* ]]
	run -2 scripts/swarm.sh label one server support
	[[ $(called 'node update') == 2 ]]
	run -2 scripts/swarm.sh label nobody server
	[[ $output == *"node nobody is not labelled"* ]]
}

@test "a registry of one's own: images are pushed from here, nodes pull by digest, and none is started" {
	export BENCH_REGISTRY=registry.example.org/x
	scripts/swarm.sh up
	[[ $(called ' run ') == 0 && $(called 'stack deploy') == 0 ]]
	scripts/swarm.sh send bench/upstream
	[[ $(called '^push --quiet registry.example.org/x/bench/upstream:') == 1 && $(called '^--context .* push') == 0 ]]
	for node in one two three; do
		[[ $(called "^--context $node pull --quiet registry.example.org/x/bench/upstream@sha256:1$") == 1 ]]
		[[ $(called "^--context $node tag registry.example.org/x/bench/upstream@sha256:1 bench/upstream$") == 1 ]]
	done
	# Nodes that have it are left alone.
	scripts/swarm.sh send bench/upstream
	[[ $(called ' pull --quiet') == 3 ]]
}

@test "a node that gets another image than the one that is here is an error" {
	BENCH_REGISTRY=registry.example.org/x WRONG=two run ! scripts/swarm.sh send bench/upstream
	[[ $output == *"context two gets another bench/upstream than the one that is here"* ]]
	[[ $(called '^--context two tag') == 0 ]]
}

@test "arguments that mean nothing" {
	for words in '' 'lable one' 'check --seconds' 'check --seconds 0' 'roles all' 'label' 'send' 'up mysql' 'down now'; do
		# shellcheck disable=SC2086 # words
		run -2 scripts/swarm.sh $words
		[[ ${#lines[@]} == 1 ]]
	done
	run -0 scripts/swarm.sh --help
	[[ $output == *"label NODE"* ]]
}
