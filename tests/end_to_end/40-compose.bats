#!/usr/bin/env bats
# docker-compose up bench, and the branches that differ in one line.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	git init --quiet --initial-branch main
	git add --all
	git -c user.name=t -c user.email=t@example.org commit --quiet --message all
	any_host
	# On eight connections, as a window has to have enough answers for each, beside other tests too.
	export SELECTION='--scenario json --tool wrk --level 8 --no-latency' DURATION=1 ROUNDS=2 COMPOSE_PROJECT_NAME=bench-up
	"$docker" compose up bench >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
	beside $! >"$BATS_FILE_TMPDIR/beside" 2>&1
	wait $! || {
		tail -n 40 "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

# beside PID: what the host's script comes to with the run that this process measures.
beside() {
	until compgen -G 'results/2*/.writer' >/dev/null || ! kill -0 "$1"; do sleep 0.2; done
	set +e
	# Its name is there before it has the lock.
	sleep 1
	scripts/matrix.sh --resume "$(the_run)"
	echo "resume: status $?"
	set -e
}

teardown_file() {
	cd "$BATS_FILE_TMPDIR/project"
	# Compose takes ten seconds to read all services.
	COMPOSE_SERVICES=bench COMPOSE_PROJECT_NAME=bench-up "$docker" compose --profile '*' down --timeout 0 >/dev/null 2>&1
	remove_listeners
}

remove_listeners() {
	"$docker" rm --force bench-up-host bench-up-other >/dev/null 2>&1 || true
	"$docker" network rm bench-up-other >/dev/null 2>&1 || true
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# Two rounds of eight services in turns, and the null server.
@test "bench ends well, with the figures of the eight services in order, and every control" {
	grep -q 'bench-1 exited with code 0' "$BATS_FILE_TMPDIR/log"
	[[ $(count . "$run_folder/plan.jsonl") == 17 ]]
	[[ $(metas "$run_folder" | grep -c '"outcome": "measured"') == 17 ]]
	[[ $(grep -cE '^\| – \| [a-z-]+ \| (best|[-+−0-9.]+ %)' "$run_folder/report.md") == 8 ]]
	[[ $(find "$run_folder/raw/services" -name verify.json | wc -l) == 8 ]]
}

@test "the host's script is refused its run meanwhile" {
	cat "$BATS_FILE_TMPDIR/beside"
	local since='[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}'
	grep -qE "^matrix.sh: ${run_folder#results/} is being measured since $since by docker-compose up bench \(container [0-9a-f]+\): wait for it, or end it \(docker-compose down\)$" "$BATS_FILE_TMPDIR/beside"
	grep -qx 'resume: status 2' "$BATS_FILE_TMPDIR/beside"
}

@test "the same kind of results; CPU time comes from the host's cgroups, and judges; memory is null, with its reason" {
	[[ -s $run_folder/report.md && $(count . "$run_folder/records.jsonl") == 17 ]]
	grep '"mode": *"turns"' "$run_folder/records.jsonl" >"$BATS_TEST_TMPDIR/turns"
	[[ $(grep -cE '"server_cpu_s": *[0-9]+\.[0-9]*[1-9]' "$BATS_TEST_TMPDIR/turns") == 16 ]]
	grep -q '^### json wrk c8: requests/s, 2 rounds$' "$run_folder/report.md"
	grep -q '"memory_peak_bytes": *"no Docker socket is mounted' "$BATS_TEST_TMPDIR/turns"
	# What other tests take of this machine meanwhile may make some not valid, for no other cause.
	busy_host_causes "$run_folder"
	[[ $(count '"goodput": *[1-9]' "$run_folder/records.jsonl") == 17 ]]
}

@test "what it wrote belongs to the owner of results/" {
	[[ $(owners "$run_folder") == "$(stat -c %U results)" ]]
}

# resolved FILE: what Compose makes of all services.
resolved() { COMPOSE_SERVICES=$1 "$docker" compose --profile '*' config --format json; }

@test "every service that Compose can start is confined, but for what a list allows with its reason" {
	local services
	services=$(grep -c '^  [a-z0-9-]*:$' services/compose.yml)
	# With postgres, upstream, the null server, the load generator and the registry of a swarm.
	run -0 confined < <(resolved compose)
	[[ $output == "$((services + 5)) containers are confined" ]]
	run -0 confined < <(resolved bench)
	[[ $output == '14 containers are confined' ]]
}

@test "a service that is not confined is found" {
	cp services/template.yml "$BATS_TEST_TMPDIR/"
	sed -i '/cap_drop/d' services/template.yml
	run -1 confined < <(resolved bench)
	cp "$BATS_TEST_TMPDIR/template.yml" services/
	[[ ${#lines[@]} == 14 && $output == *'upstream: keeps the capabilities of the engine'* ]]
	run -1 confined < <(WITHOUT_HOST=false resolved bench)
	[[ ${#lines[@]} == 14 && $output == *'upstream: is on bench, which leads out of the run'* ]]
}

@test "the containers that have run were confined" {
	local containers
	mapfile -t containers < <("$docker" ps --all --quiet --filter label=com.docker.compose.project=bench-up)
	run -0 confined < <("$docker" inspect "${containers[@]}" bench-up_bench)
	[[ $output == '12 containers are confined' ]]
}

# attempts CONTAINER HOST:PORT...: what comes of connections from inside of it.
attempts() { "$docker" exec --interactive "$1" python3 - "${@:2}" <tests/support/reach.py; }

# listener NAME NETWORK ADDRESS...: a container that listens on each, also if this host does not have it now (IP_FREEBIND).
listener() {
	"$docker" run --detach --rm --init --name "bench-up-$1" --network "$2" bench/loadgen timeout 60 python3 -c '
import socket, sys, time
listening = [socket.socket() for _ in sys.argv[1:]]
for address, one in zip(sys.argv[1:], listening):
    one.setsockopt(socket.SOL_IP, 15, 1)
    one.bind((address, 48999))
    one.listen()
time.sleep(60)' "${@:3}" >/dev/null
}

@test "a service reaches its own run, and not the internet, this host, the load generator or another run" {
	local own=bench-up-uvicorn-asgi-py313-debian-1 subnet=${BENCH_SUBNET%/*} gateway bridge other
	# The address that the engine gives to the host by default.
	gateway=${subnet%.*}.$((${subnet##*.} + 1))
	bridge=$("$docker" network inspect --format '{{(index .IPAM.Config 0).Gateway}}' bridge)
	listener host host "$gateway" "$bridge"
	"$docker" network create --internal bench-up-other >/dev/null
	listener other bench-up-other 0.0.0.0
	other=$("$docker" inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' bench-up-other)
	COMPOSE_SERVICES=bench "$docker" compose up --detach --no-deps loadgen
	# They are there: each is reached from where it may be.
	run -0 attempts "$own" 127.0.0.1:8080 upstream:8080 postgres:5432
	[[ ${#lines[@]} == 3 && $output != *'not reached'* ]]
	run "$docker" exec --interactive bench-up-host python3 -c 'import socket, sys
for address in sys.argv[1:]: socket.create_connection((address, 48999), timeout=2)' "$bridge"
	[[ $status == 0 ]]
	run -0 attempts bench-up-other "$other:48999" bench-up-other:48999
	[[ $output != *'not reached'* ]]
	# Not one is reached from a service.
	run -0 attempts "$own" 198.51.100.1:80 example.com:443 host.docker.internal:48999 "$gateway:48999" "$bridge:48999" \
		"$other:48999" bench-up-other:48999 loadgen:80 loadgen:8080 loadgen:48999
	echo "$output"
	[[ $(grep -c ' not reached (' <<<"$output") == 10 ]]
	# The load generator listens nowhere; 127.0.0.11 is Docker's name server.
	run -0 "$docker" exec bench-up-loadgen-1 cat /proc/net/tcp /proc/net/tcp6
	[[ $(awk '$4 == "0A" && $2 !~ /^0B00007F:/' <<<"$output") == '' ]]
	remove_listeners
}

@test "two branches differ in one line, which Compose honours" {
	git config user.name t && git config user.email t@example.org
	scripts/branches.sh
	git diff --stat sync gevent
	[[ $(git diff --numstat sync gevent) == $'1\t1\t.env' ]]
	export COMPOSE_SERVICES=bench
	git switch --quiet gevent
	"$docker" compose config | grep -q 'image: bench/gunicorn-gevent-flask-py313-debian'
	git switch --quiet sync
	"$docker" compose config | grep -q 'image: bench/gunicorn-sync-flask-py313-debian'
	run scripts/branches.sh
	[[ $status == 0 && $output == *"exists already"* ]]
}

@test "what bench left up gives way to the next run, also while a container by hand has the labels of an image" {
	"$docker" run --detach --rm --network none --label com.docker.compose.project=bench-up --name bench-up-host bench/loadgen sleep 120 >/dev/null
	run -0 scripts/verify.sh --quiet gunicorn-sync-wsgi-py313-debian
	rm -r results/*-contract
	[[ $output == *'removing what is left of bench-up, which nobody measures any more'* ]]
	[[ -z $("$docker" ps --all --quiet --filter label=com.docker.compose.project.working_dir="$PWD") ]]
}

@test "a subnet in use: the last line names the network and says how to fix it" {
	"$docker" network create --internal --subnet "$BENCH_SUBNET" bench-up-other >/dev/null
	run -2 scripts/matrix.sh --preset quick --stack gunicorn-sync-wsgi --scenario json --tool wrk
	[[ ${lines[-1]} == *" is in use by Docker's network bench-up-other (another run?): end that, or set BENCH_SUBNET in .env" ]]
	export COMPOSE_SERVICES=bench
	run -1 "$docker" compose up --no-build upstream
	[[ $output == *'Pool overlaps'* ]]
}
