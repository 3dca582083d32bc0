#!/usr/bin/env bats
# docker-compose up bench, and the branches that differ in one line.

load common

setup_file() {
	copy_project "$BATS_FILE_TMPDIR/project"
	git init --quiet --initial-branch main
	git add --all
	git -c user.name=t -c user.email=t@example.org commit --quiet --message all
	any_host
	# Eight connections, because a window needs enough answers on each even while other tests run.
	export SELECTION='--scenario json --tool wrk --level 8 --no-latency' DURATION=1 ROUNDS=1 COMPOSE_PROJECT_NAME=bench-up
	"$docker" compose up bench >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
	beside $! >"$BATS_FILE_TMPDIR/beside" 2>&1
	wait $! || {
		tail -n 40 "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

# beside PID: tries to resume, on the host, the run that this process is measuring.
beside() {
	until compgen -G 'results/2*/.writer' >/dev/null || ! kill -0 "$1"; do sleep 0.2; done
	set +e
	# The lock file exists before it is locked.
	sleep 1
	scripts/matrix.sh --resume "$(the_run)"
	echo "resume: status $?"
	set -e
}

teardown_file() {
	cd "$BATS_FILE_TMPDIR/project"
	# COMPOSE_SERVICES=bench, because Compose takes ten seconds to read all services.
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

# Eight services in turns, and the null server.
@test "bench succeeds, with figures of eight services, unless the machine was too busy, and every control" {
	grep -q 'bench-1 exited with code 0' "$BATS_FILE_TMPDIR/log"
	[[ $(count . "$run_folder/plan.jsonl") == 9 ]]
	[[ $(metas "$run_folder" | grep -c '"outcome": "measured"') == 9 ]]
	[[ $(grep -cE '^\| – \| [a-z-]+ \| (first|[-+−0-9.]+ %|(– \| )+'"$busy_host)" "$run_folder/report.md") == 8 ]]
	[[ $(find "$run_folder/raw/services" -name verify.json | wc -l) == 8 ]]
}

@test "scripts on the host refuse to resume the run while it is being measured" {
	cat "$BATS_FILE_TMPDIR/beside"
	local since='[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}'
	grep -qE "^matrix.sh: ${run_folder#results/} is being measured since $since by docker-compose up bench \(container [0-9a-f]+\): wait for it, or end it \(docker-compose down\)$" "$BATS_FILE_TMPDIR/beside"
	grep -qx 'resume: status 2' "$BATS_FILE_TMPDIR/beside"
}

@test "CPU time comes from the host's cgroups; memory is null, with the reason" {
	[[ -s $run_folder/report.md && $(count . "$run_folder/records.jsonl") == 9 ]]
	grep '"mode": *"turns"' "$run_folder/records.jsonl" >"$BATS_TEST_TMPDIR/turns"
	[[ $(grep -cE '"server_cpu_s": *[0-9]+\.[0-9]*[1-9]' "$BATS_TEST_TMPDIR/turns") == 8 ]]
	grep -q '^### json wrk c8: requests/s, 1 round$' "$run_folder/report.md"
	grep -q '"memory_loaded_bytes": *"no Docker socket is mounted' "$BATS_TEST_TMPDIR/turns"
	# Records may be invalid because other tests use the machine, but for no other cause.
	busy_host_causes "$run_folder"
	[[ $(count '"goodput": *[1-9]' "$run_folder/records.jsonl") == 9 ]]
}

@test "its files belong to the owner of results/" {
	[[ $(owners "$run_folder") == "$(stat -c %U results)" ]]
}

# resolved FILE: prints all services of services/FILE.yml, resolved by Compose.
resolved() { COMPOSE_SERVICES=$1 "$docker" compose --profile '*' config --format json; }

@test "every service that Compose can start is confined, except as a list allows with reasons" {
	local services
	services=$(grep -c '^  [a-z0-9-]*:$' services/compose.yml)
	# The other five: postgres, upstream, the null server, the load generator and the registry of a swarm.
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

@test "the containers that bench has started are confined" {
	local containers
	# Others may have the project's label from their image, which Compose has built.
	mapfile -t containers < <("$docker" ps --all --quiet --filter label=com.docker.compose.project=bench-up \
		--filter label=com.docker.compose.oneoff=False)
	run -0 confined < <("$docker" inspect "${containers[@]}" bench-up_bench)
	[[ $output == '12 containers are confined' ]]
}

# attempts CONTAINER HOST:PORT...: prints the results of connecting to these from inside the container.
attempts() { "$docker" exec --interactive "$1" python3 - "${@:2}" <tests/support/reach.py; }

# listener NAME NETWORK ADDRESS...: starts a container that listens on each address, even if the host does not have it (IP_FREEBIND).
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

@test "a service reaches its own run, but not the internet, this host, the load generator or another run" {
	local own=bench-up-uvicorn-asgi-py313-debian-1 subnet=${BENCH_SUBNET%/*} gateway bridge other
	# The address that the engine would give to the host by default.
	gateway=${subnet%.*}.$((${subnet##*.} + 1))
	bridge=$("$docker" network inspect --format '{{(index .IPAM.Config 0).Gateway}}' bridge)
	listener host host "$gateway" "$bridge"
	"$docker" network create --internal bench-up-other >/dev/null
	listener other bench-up-other 0.0.0.0
	other=$("$docker" inspect --format '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' bench-up-other)
	COMPOSE_SERVICES=bench "$docker" compose up --detach --no-deps loadgen
	# All addresses work from where they should be reachable.
	run -0 attempts "$own" 127.0.0.1:8080 upstream:8080 postgres:5432
	[[ ${#lines[@]} == 3 && $output != *'not reached'* ]]
	run "$docker" exec --interactive bench-up-host python3 -c 'import socket, sys
for address in sys.argv[1:]: socket.create_connection((address, 48999), timeout=2)' "$bridge"
	[[ $status == 0 ]]
	run -0 attempts bench-up-other "$other:48999" bench-up-other:48999
	[[ $output != *'not reached'* ]]
	# None is reachable from a service.
	run -0 attempts "$own" 198.51.100.1:80 example.com:443 host.docker.internal:48999 "$gateway:48999" "$bridge:48999" \
		"$other:48999" bench-up-other:48999 loadgen:80 loadgen:8080 loadgen:48999
	echo "$output"
	[[ $(grep -c ' not reached (' <<<"$output") == 10 ]]
	# The load generator listens on no port; 127.0.0.11 is Docker's name server.
	run -0 "$docker" exec bench-up-loadgen-1 cat /proc/net/tcp /proc/net/tcp6
	[[ $(awk '$4 == "0A" && $2 !~ /^0B00007F:/' <<<"$output") == '' ]]
	remove_listeners
}

@test "a service can neither tell the upstream to fail others, nor lock their tables or end their connections" {
	local own=bench-up-uvicorn-asgi-py313-debian-1
	run -0 "$docker" exec --interactive "$own" python3 - <<-'PYTHON'
		import http.client

		for method, path in ("PUT", "/mode/error?of=198.18.0.9"), ("PUT", "/mode/ok"), ("GET", "/count?of=198.18.0.9"):
		    for token in "Bearer ", "Bearer x", "":
		        connection = http.client.HTTPConnection("upstream", 8081)
		        connection.request(method, path, headers={"Authorization": token} if token else {})
		        print(connection.getresponse().status)
	PYTHON
	[[ $(sort <<<"$output" | uniq -c | tr -s ' ') == ' 9 403' ]]
	run -0 "$docker" exec --interactive "$own" python3 - <<-'PYTHON'
		import asyncio

		import asyncpg


		async def main():
		    with open("/run/secrets/database_password") as file:
		        password = file.read().strip()
		    database = await asyncpg.connect(host="postgres", user="bench", database="bench", password=password)
		    print(await database.fetchval("SELECT count(*) FROM world"), await database.execute("UPDATE world SET randomnumber = 1 WHERE id = 1"))
		    tables = [f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE" for table in ("world", "fortune", "data")]
		    insert = "INSERT INTO data (id, value) OVERRIDING SYSTEM VALUE VALUES (1, 'x')"
		    for statement in *tables, "SELECT pg_terminate_backend(1)", "SELECT pg_cancel_backend(1)", "TRUNCATE data", "DROP TABLE world", insert:
		        try:
		            async with database.transaction():
		                await database.execute(statement)
		        except asyncpg.InsufficientPrivilegeError:
		            print("refused")


		asyncio.run(main())
	PYTHON
	[[ ${lines[0]} == '10000 UPDATE 1' && $(grep -cx refused <<<"$output") == 8 ]]
}

@test "two branches differ in one line, and Compose follows it" {
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

@test "services left up by bench are removed for the next run, even beside a manually started container with the project's label" {
	"$docker" run --detach --rm --network none --label com.docker.compose.project=bench-up --name bench-up-host bench/loadgen sleep 120 >/dev/null
	run -0 scripts/verify.sh --quiet gunicorn-sync-wsgi-py313-debian
	rm -r results/*-contract
	[[ $output == *'removing what is left of bench-up, which is no longer being measured'* ]]
	[[ -z $("$docker" ps --all --quiet --filter label=com.docker.compose.project.working_dir="$PWD") ]]
}

@test "a subnet in use: the last line names the network and says how to fix it" {
	"$docker" network create --internal --subnet "$BENCH_SUBNET" bench-up-other >/dev/null
	run -2 scripts/matrix.sh --preset quick --stack gunicorn-sync-wsgi --scenario json --tool wrk
	[[ ${lines[-1]} == *" is in use by Docker's network bench-up-other (another run?): end that, or set BENCH_SUBNET in .env for a new run" ]]
	export COMPOSE_SERVICES=bench
	run -1 "$docker" compose up --no-build upstream
	[[ $output == *'Pool overlaps'* ]]
}
