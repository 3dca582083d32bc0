# shellcheck shell=bash
# The registry that a swarm runs itself, unless the user has one. Only declares.
#
# The swarm's registry is in a network of its own, without a published port. On each node a relay takes connections at
# 127.0.0.1 alone, which engines trust without TLS, and passes them on to the registry over that network.

# shellcheck source=scripts/lib/node_images.sh
source "${BASH_SOURCE[0]%/*}/node_images.sh"

relay=bench-relay

# registry_up [SERVICE...]: the registry, where the swarm runs it, and then these services from it.
registry_up() {
	local nodes node context services=(registry)
	if [[ $(setting BENCH_REGISTRY) ]]; then
		services=()
	else
		nodes=$(nodes_with)
		[[ $nodes ]] || fail 1 "no node of the swarm has a role: scripts/swarm.sh label NODE ROLE"
		compose --profile swarm build --quiet registry >/dev/null
		copy_to_nodes "$nodes" bench/registry
		deploy_stack registry
		while read -r node context _; do spawn 8 start_relay "$node" "$context"; done <<<"$nodes"
		await_spawned
	fi
	(($#)) || return 0
	push_images "${@/#/bench/}"
	deploy_stack "${services[@]}" "$@"
	await_stack
}

# deploy_stack SERVICE...: with the images' digests, as far as the registry has them.
deploy_stack() {
	compose --profile '*' config --format json "$@" | swarm_verb swarm-stack "$@" >"$facts/stack.json"
	on "$manager" stack deploy --resolve-image never --compose-file "$facts/stack.json" "$stack" >"$facts/stack.log" 2>&1 ||
		fail 1 "the swarm takes no stack: $(tail -n 1 "$facts/stack.log")"
}

# await_stack: until all of its services are up.
await_stack() {
	local tries up=''
	for ((tries = 0; tries < 300; tries++)); do
		up=$(on "$manager" stack services --format '{{.Replicas}}' "$stack")
		[[ $up == *0/1* || ! $up ]] || return 0
		sleep 0.3
	done
	fail 1 "the swarm has not started all of its stack: docker --context $manager stack ps --no-trunc $stack"
}

# start_relay NODE CONTEXT: and wait until the registry answers through it.
start_relay() {
	local tries
	if [[ $(on "$2" inspect --format '{{.State.Running}}' "$relay" 2>/dev/null) != true ]]; then
		on "$2" rm --force --volumes "$relay" >/dev/null 2>&1 || true
		on "$2" run --detach --name "$relay" --network "${stack}_images" --publish "127.0.0.1:$registry_port:5000" --restart unless-stopped \
			--init "${confined[@]}" --memory 128m bench/registry socat TCP-LISTEN:5000,fork,reuseaddr TCP:registry:5000 >/dev/null
	fi
	for ((tries = 0; tries < 100; tries++)); do
		! on "$2" exec "$relay" bash -c '</dev/tcp/registry/5000' 2>/dev/null || return 0
		sleep 0.3
	done
	fail 1 "node $1 does not reach the registry: scripts/swarm.sh check says why"
}

# registry_down: nothing of it is left on any node, of which some may not answer. A manager may fail in between, and the swarm
# takes its time to end a stack, whose networks are in the way of the next one.
registry_down() {
	local nodes context tries left
	nodes=$(nodes_with)
	while read -r _ context _; do on "$context" rm --force --volumes "$relay" >/dev/null 2>&1 || true; done <<<"$nodes"
	for ((tries = 0; tries < 100; tries++)); do
		on "$manager" stack rm "$stack" >/dev/null 2>&1 || true
		if left=$(stack_left) && [[ ! $left ]]; then return; fi
		sleep 0.3
	done
	fail 1 "of the stack $stack there is still: ${left//$'\n'/, }"
}

# stack_left: in the swarm, and the networks that a node keeps until its last container has left them.
stack_left() {
	local what context
	for what in service secret; do
		on "$manager" "$what" ls --filter "label=com.docker.stack.namespace=$stack" --format "$what {{.Name}}" 2>/dev/null || return
	done
	while read -r _ context _; do
		on "$context" network ls --filter "label=com.docker.stack.namespace=$stack" --format "network {{.Name}} ($context)" 2>/dev/null || true
	done <"$facts/engines"
}
