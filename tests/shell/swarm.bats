#!/usr/bin/env bats
# scripts/swarm.sh with a fake Docker that has contexts for three nodes, and one that does not answer.

bats_require_minimum_version 1.5.0
load project

setup() {
	copy_project "$BATS_TEST_TMPDIR/project"
	cd "$BATS_TEST_TMPDIR/project" || return
	mv "$BENCH_DOCKER" "$BENCH_DOCKER.plain"
	mv "$BENCH_DOCKER.source" "$BENCH_DOCKER.plain.source"
	cat >"$BENCH_DOCKER" <<-'EOS'
		#!/usr/bin/env bash
		# MANAGERS: the nodes that answer as managers; BROKEN: a manager that then fails; WRONG: a node with different images.
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

@test "contexts are matched with nodes, although one does not answer" {
	run -0 scripts/swarm.sh roles
	[[ ${#lines[@]} == 3 && ${lines[0]} == 'support one one 198.18.64.9 2 CPUs, 8.0 GiB, linux/x86_64' ]]
	[[ $output == *"server three three "* ]]
	# No temporary file stays in results/.
	[[ $(ls -A results) == '' ]]
}

@test "another manager is asked if the first one fails; without a manager nothing is done" {
	BROKEN=one run -0 scripts/swarm.sh label three server
	[[ $(called '^--context two node update --label-add bench.role=server three$') == 1 ]]
	MANAGERS='' run -1 scripts/swarm.sh roles
	[[ $output == *"no Docker context reaches a manager"* && ${#lines[@]} == 1 ]]
	MANAGERS=one BROKEN=one run -1 scripts/swarm.sh roles
	[[ $output == *"no Docker context reaches a manager"* ]]
}

@test "a node has one role, several or none; an unknown role is refused before the swarm is changed" {
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

@test "the user's own registry: images are pushed from here, nodes pull by digest, and no registry is started" {
	export BENCH_REGISTRY=registry.example.org/x
	scripts/swarm.sh up
	[[ $(called ' run ') == 0 && $(called 'stack deploy') == 0 ]]
	scripts/swarm.sh send bench/upstream
	[[ $(called '^push --quiet registry.example.org/x/bench/upstream:') == 1 && $(called '^--context .* push') == 0 ]]
	for node in one two three; do
		[[ $(called "^--context $node pull --quiet registry.example.org/x/bench/upstream@sha256:1$") == 1 ]]
		[[ $(called "^--context $node tag registry.example.org/x/bench/upstream@sha256:1 bench/upstream$") == 1 ]]
	done
	# Nodes that have the image do not pull again.
	scripts/swarm.sh send bench/upstream
	[[ $(called ' pull --quiet') == 3 ]]
}

@test "a node that pulls an image that differs from the local one is an error" {
	BENCH_REGISTRY=registry.example.org/x WRONG=two run ! scripts/swarm.sh send bench/upstream
	[[ $output == *"the image bench/upstream of context two differs from this machine's"* ]]
	[[ $(called '^--context two tag') == 0 ]]
}

@test "invalid arguments" {
	for words in '' 'lable one' 'check --seconds' 'check --seconds 0' 'roles all' 'label' 'send' 'up mysql' 'down now'; do
		# shellcheck disable=SC2086 # words
		run -2 scripts/swarm.sh $words
		[[ ${#lines[@]} == 1 ]]
	done
	run -0 scripts/swarm.sh --help
	[[ $output == *"label NODE"* ]]
}
