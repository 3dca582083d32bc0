#!/usr/bin/env bats
# Servers that already run, on containers that only pretend: which load generator loads them, and what Docker is not asked.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	export NAME=target-127.0.0.1-8000
	made_run alone <<<'plan = [solo("aiohttp", 1) | RUNNING | {"dir": f"raw/r01/{NAME}/json/wrk-c64"}, solo("tornado", 2)]
rates = [3000, 4000]'
	made_run beside <<<'plan = block(1, ("aiohttp", "tornado"))
folder = "/".join(plan[0]["dir"].split("/")[:-1])
plan = [line | {"host_network": True} for line in plan]
plan[1] |= RUNNING | {"dir": f"{folder}/{NAME}"}
rates = [3000, 4000]'
}

# made_run KIND <<<PYTHON: as make_run has it; RUNNING makes of a line one of the server.
made_run() {
	mkdir "$BATS_FILE_TMPDIR/$1"
	cd "$BATS_FILE_TMPDIR/$1" || return
	make_run a-run < <(echo "NAME = '$NAME'; RUNNING = {'service': NAME, 'url': 'http://127.0.0.1:8000', 'host_network': True}" && cat)
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# As of the run's settings.
	export FAKE=$PWD SEED=1 SERVER_CPUS=0 LOADGEN_CPUS=1 NOFILE=1024
}

# use_run KIND: that one.
use_run() {
	cp -r "$BATS_FILE_TMPDIR/$1/." .
	echo services: >results/a-run/compose.yml
}

# started: how each load generator in the host's network was started.
started() { grep '^run --detach --name bench-a-run-loadgen-host-1 ' calls; }

@test "alone: its load comes from the host's network, and no container is asked about it" {
	use_run alone
	run -0 bash loop
	cat calls
	[[ $(metas) == "r01/$NAME/json/wrk-c64 measured"$'\n''r01/tornado-py313-debian/json/wrk-c64 measured' ]]
	[[ $(grep -oE '^exec \S+ loadgen/measure \S+' calls) == 'exec bench-a-run-loadgen-host-1 loadgen/measure prepare
exec bench-a-run-loadgen-host-1 loadgen/measure run
exec bench-a-run-loadgen-1 loadgen/measure prepare
exec bench-a-run-loadgen-1 loadgen/measure run' ]]
	[[ $(started | wc -l) == 1 && $(grep -c -- "$NAME" calls) == 0 ]]
	local dir=results/a-run/raw/r01/$NAME/json/wrk-c64
	[[ $(<"$dir/server.before") == 'null no counters: not a container of this project' && -s $dir/database.before ]]
	# It is gone before the next service is loaded.
	[[ $(grep -oE '^(run|rm) .*loadgen-host|up --detach' calls | sed 's/ .*//' | xargs) == 'rm run rm up rm' ]]
}

@test "its load generator has the rights and limits of the other one, and no more" {
	use_run alone
	run -0 bash loop
	for option in --network\ host --read-only --cap-drop\ ALL --security-opt\ no-new-privileges --pids-limit\ 4096 --memory\ 2g \
		--ulimit\ nofile=1024 --cpuset-cpus\ 1 --user\ "$(id -u):$(id -g)" --volume\ "$PWD:/bench:ro" --init; do
		[[ " $(started) " == *" $option "* ]] || { echo "$option" && false; }
	done
	local limits
	limits=$(sed -n '/^  loadgen:/,$p' "$PROJECT/services/common.yml")
	[[ $limits == *'mem_limit: 2g'* && $limits == *'pids_limit: 4096'* ]]
	[[ $(started) != *privileged* && $(started) != *docker.sock* && $(started) != *publish* && $(started) != *--add-host* ]]
}

@test "beside a service: both are loaded from one load generator, which knows the container's address" {
	use_run beside
	run -0 bash loop
	cat calls
	[[ $(metas | sed 's/.* //' | xargs) == 'measured measured' ]]
	[[ $(started) == *' --network host --add-host aiohttp-py313-debian:'*' --init '* ]]
	[[ $(grep -oE '^exec \S+ env .* turns \S+' calls | sed 's/ env.*turns/ turns/') == 'exec bench-a-run-loadgen-host-1 turns ready
exec bench-a-run-loadgen-host-1 turns load' ]]
	[[ $(cut -f1 results/a-run/containers.tsv | xargs) == 'aiohttp-py313-debian postgres upstream' ]]
	local services=results/a-run/raw/r01/blocks/b1/services
	[[ $(<"$services/$NAME.after") == 'null no counters: not a container of this project' ]]
	grep -qx 'running true' $services/aiohttp-py313-debian.after
	[[ $(grep -c "bench-a-run-$NAME" calls) == 0 ]]
}

@test "a service beside it that does not start: the server is measured" {
	use_run beside
	echo aiohttp-py313-debian >up-fails-for
	echo aiohttp-py313-debian >silent
	rm -r made/raw/r01/blocks/b1/json/wrk-c16/w1/aiohttp-py313-debian
	run -0 bash loop
	[[ $(metas | sed 's|.*/w1/||') == "aiohttp-py313-debian did not start"$'\n'"$NAME measured" ]]
	[[ $(started) != *--add-host* ]]
}
