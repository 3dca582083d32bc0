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
	export SELECTION='--scenario json --tool wrk --level 8' DURATION=1 ROUNDS=2 COMPOSE_PROJECT_NAME=bench-up
	"$docker" compose up bench >"$BATS_FILE_TMPDIR/log" 2>&1 || {
		tail -n 40 "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

teardown_file() {
	cd "$BATS_FILE_TMPDIR/project"
	# Compose takes ten seconds to read all services.
	COMPOSE_SERVICES=bench COMPOSE_PROJECT_NAME=bench-up "$docker" compose --profile '*' down --timeout 0 >/dev/null 2>&1
}

setup() {
	cd "$BATS_FILE_TMPDIR/project"
	run_folder=$(the_run)
}

# Two rounds of eight services in turns, and the null server.
@test "bench ends well, with a ranking of the eight services and every control" {
	grep -q 'bench-1 exited with code 0' "$BATS_FILE_TMPDIR/log"
	[[ $(count . "$run_folder/plan.jsonl") == 17 ]]
	[[ $(metas "$run_folder" | grep -c '"outcome": "measured"') == 17 ]]
	[[ $(grep -cE '^\| [0-9] \| [a-z-]+ \| (best|[-+−0-9.]+ %)' "$run_folder/report.md") == 8 ]]
	[[ $(find "$run_folder/raw/services" -name verify.json | wc -l) == 8 ]]
}

@test "the same kind of results; CPU time comes from the host's cgroups, and judges; memory is null, with its reason" {
	[[ -s $run_folder/report.md && $(count . "$run_folder/records.jsonl") == 17 ]]
	grep '"mode": *"turns"' "$run_folder/records.jsonl" >"$BATS_TEST_TMPDIR/turns"
	[[ $(grep -cE '"server_cpu_s": *0\.[0-9]*[1-9]' "$BATS_TEST_TMPDIR/turns") == 16 ]]
	grep -q '^### json wrk c8: CPU per request, 2 rounds$' "$run_folder/report.md"
	grep -q '"memory_peak_bytes": *"no Docker socket is mounted' "$BATS_TEST_TMPDIR/turns"
	# What other tests take of this machine meanwhile may make some not valid, for no other cause.
	busy_host_causes "$run_folder"
	[[ $(count '"goodput": *[1-9]' "$run_folder/records.jsonl") == 17 ]]
}

@test "what it wrote belongs to the owner of results/" {
	[[ $(owners "$run_folder") == "$(stat -c %U results)" ]]
}

@test "no container sees the Docker socket, and none publishes a port" {
	local config
	config=$(COMPOSE_SERVICES=bench "$docker" compose --profile '*' config)
	[[ $config == *gunicorn-worker-flask-py313-debian:* && $config == *postgres:* ]]
	run -1 grep -q 'docker.sock' <<<"$config"
	run -1 grep -Eq '^ +(published|ports):' <<<"$config"
	# The other services extend the same template, and add nothing of the kind.
	run -1 grep -Eq 'docker\.sock|^ +(published|ports|volumes):' services/compose.yml
	[[ $(grep -c '^    extends: {file: template.yml, service: app}$' services/compose.yml) == $(($(grep -c '^  [a-z0-9-]*:$' services/compose.yml) - 1)) ]]
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

@test "a subnet in use: the last line says how to fix it" {
	run -2 scripts/matrix.sh --preset quick --stack gunicorn-sync-wsgi --scenario json --tool wrk
	[[ ${lines[-1]} == *"set BENCH_SUBNET in .env"* ]]
}
