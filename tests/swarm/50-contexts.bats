#!/usr/bin/env bats
# A run on two machines without a swarm, through two Docker contexts (nodes.sh up 2 --plain).

load on_nodes

setup_file() {
	start_nodes 2 --plain
	export address=$NODES_SUBNET.2
}

# measure SERVER LOADGEN ADDRESS WORD...
measure() {
	scripts/matrix.sh --server-context "$1" --loadgen-context "$2" --server-address "$3" --stack uvicorn-asgi,gunicorn-sync-wsgi \
		--scenario json --tool wrk --level c16 --rounds 2 "${@:4}"
}

# values KEY FILE: prints the values of a key in a file of JSON lines.
values() { sed -nE "s/^.*[{,] ?\"$1\": ?\"([^\"]*)\".*/\1/p" "$2"; }

# left NODE: prints ids of containers, and of volumes and networks of runs.
left() {
	local kind
	for kind in container volume network; do
		node "$1" "$kind" ls --quiet --filter label=com.docker.compose.project
	done
	node "$1" ps --all --quiet
}

@test "bad addresses and contexts are refused before anything is planned" {
	local runs
	runs=$(ls results)
	run -2 measure bench-node-2 bench-node-1 0.0.0.0
	[[ $output == *"0.0.0.0 stands for every interface of the server's machine"* && ${#lines[@]} == 1 ]]
	run -2 measure bench-node-2 bench-node-9 "$address"
	[[ $output == *"no Docker engine answers at bench-node-9: "*"not found"* && ${#lines[@]} == 1 ]]
	[[ $(ls results) == "$runs" && ! $(left 1)$(left 2) ]]
}

@test "a run with an address that the server's machine does not have fails, and nothing is left" {
	run -1 measure bench-node-2 bench-node-1 "$NODES_SUBNET.77" --duration 1
	[[ $output == *"cannot assign requested address"* && $output == *"the counters of node bench-node-2 cannot be read"* ]]
	[[ ! $(left 1)$(left 2) && $output =~ results/[0-9]+-[0-9]+-all ]]
	rm -r "${BASH_REMATCH[0]}"
}

@test "services are measured through ports at the given address, and nothing is left on either machine" {
	# One machine by the name of its context, the other by URL.
	measure bench-node-2 "unix://$NODES_HOME/1/docker.sock" "$address" >"$BATS_TEST_TMPDIR/report" 2>"$BATS_TEST_TMPDIR/said" &
	measuring=$!
	# Record what is published during the run: only the services' containers, and only at this address.
	published='' listening=''
	# shellcheck disable=SC2016 # Docker's own variables
	format='{{$n := index .Config.Labels "com.docker.compose.service"}}{{range $p, $b := .HostConfig.PortBindings}}{{range $b}}{{$n}} {{$p}} {{.HostIp}} {{.HostPort}}
{{end}}{{end}}'
	while kill -0 "$measuring" 2>/dev/null; do
		ids=$(node 2 ps --quiet) || true
		# shellcheck disable=SC2086 # one word per id
		[[ ! $ids ]] || published+=$(node 2 inspect --format "$format" $ids 2>/dev/null)$'\n' || true
		listening+=$(ip netns exec "bench-nodes-${NODES_SUBNET##*.}-2" ss --listening --tcp --numeric --no-header 2>/dev/null | awk '{ print $4 }')$'\n'
		sleep 0.5
	done
	cat "$BATS_TEST_TMPDIR/said"
	wait "$measuring"
	sort -u <<<"$published"
	run -1 grep -vE "^$| $address 21[0-9]+$" <<<"$published"
	for service in null uvicorn-asgi-py313-debian gunicorn-sync-wsgi-py313-debian; do
		[[ $published == *"$service 8080/tcp $address 21"* ]]
	done
	[[ $published != *postgres* && $published != *upstream* && $listening == *"$address:2100"* && $listening != *"0.0.0.0:21"* ]]
	results=$(dirname "$(<"$BATS_TEST_TMPDIR/report")")
	# Every planned measurement exists once.
	planned=$(values id "$results/plan.jsonl" | sort)
	[[ $planned && $(values id "$results/records.jsonl" | sort) == "$planned" ]]
	[[ $(values node "$results/records.jsonl" | sort -u) == bench-node-2 && $(values outcome "$results/records.jsonl" | sort -u) == measured ]]
	grep -F "services, database and upstream on bench-node-2, load generator on bench-node-1" "$results/report.md"
	[[ ! $(left 1)$(left 2) ]]
	rm -r "$results"
}

# ssh_to I: starts an ssh daemon whose sessions use node I's engine, and puts an ssh client for it on PATH. Sets `url`.
ssh_to() {
	local folder=$BATS_FILE_TMPDIR/ssh port=2229
	mkdir -p "$folder/bin" /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
	ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
	printf '%s\n' "ListenAddress 127.0.0.1:$port" "HostKey $folder/host" "AuthorizedKeysFile $folder/key.pub" 'StrictModes no' 'UsePAM no' \
		'PermitRootLogin prohibit-password' "PidFile $folder/pid" "SetEnv DOCKER_HOST=unix://$NODES_HOME/$1/docker.sock" 'MaxStartups 100' >"$folder/server"
	echo "[127.0.0.1]:$port $(<"$folder/host.pub")" >"$folder/known"
	printf '%s\n' '#!/bin/sh' "exec $(command -v ssh) -F none -i $folder/key -o IdentitiesOnly=yes -o UserKnownHostsFile=$folder/known -o BatchMode=yes \"\$@\"" \
		>"$folder/bin/ssh"
	chmod +x "$folder/bin/ssh"
	"$(command -v sshd)" -f "$folder/server" -E "$folder/log"
	PATH=$folder/bin:$PATH
	url=ssh://root@127.0.0.1:$port
}

teardown() { [[ ! -s $BATS_FILE_TMPDIR/ssh/pid ]] || kill "$(<"$BATS_FILE_TMPDIR/ssh/pid")"; }

@test "the server's machine can be given as an ssh URL" {
	command -v sshd >/dev/null || skip "there is no sshd here (openssh-server)"
	ssh_to 2
	run -0 measure "$url" bench-node-1 "$address" --server uvicorn --rounds 1
	echo "$output"
	results=$(grep -o 'results/2[^/]*-all' <<<"$output" | head -n1)
	[[ $(values node "$results/records.jsonl" | sort -u) == bench-node-2 && $(values outcome "$results/records.jsonl" | sort -u) == measured ]]
	grep -qF "$url" "$results/nodes.tsv"
	[[ $(grep -c 'Accepted publickey' "$BATS_FILE_TMPDIR/ssh/log") -gt 3 && ! $(left 1)$(left 2) ]]
	rm -r "$results"
}
