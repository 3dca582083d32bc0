#!/usr/bin/env bats
# A run that is killed, or whose terminal is closed: nothing of it goes on, and it has one writer. Containers only pretend; the
# first load hangs.

bats_require_minimum_version 1.5.0

load loop

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	make_run a-run <<<'plan = [solo("aiohttp", 1), solo("tornado", 2)]
rates = [3000, 4000]'
	sed -i 's/^in_run/become_writer\nin_run/' loop
	echo 'services: {}' >results/a-run/compose.yml
}

setup() {
	cp -r "$BATS_FILE_TMPDIR/." "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR" || return
	export FAKE=$PWD
	writer=$PWD/results/a-run/.writer
	echo r01-0001 >hangs
}

teardown() { [[ ! ${script:-} ]] || kill -KILL -- "-$script" 2>/dev/null || true; }

# start_loop: in the background, as the leader of a process group; until it loads. Sets `script`.
start_loop() {
	set -m
	env --default-signal=INT bash loop >out 2>log 3>&- &
	script=$!
	set +m
	until_loading
}

until_loading() {
	local i
	for ((i = 0; i < 100; i++)); do
		! grep -qs 'measure prepare' calls || return 0
		sleep 0.1
	done
	return 1
}

# writers: all processes that have the lock open.
writers() {
	local place
	for place in /proc/[0-9]*/fd/9; do [[ ! $place -ef $writer ]] || cut -d/ -f3 <<<"$place"; done
}

# all_gone: within 2 s, no process of the run is left.
all_gone() {
	local i
	for ((i = 0; i < 20; i++)); do
		[[ $(writers) ]] || return 0
		sleep 0.1
	done
	ps -o pid,ppid,pgid,args
	return 1
}

taken_down() { [[ $(grep -c '^compose --project-name bench-a-run .* down ' calls) == "$1" ]]; }

# goes_on: to its end, each measurement once.
goes_on() {
	rm -f hangs calls
	run -0 bash loop
	[[ $(metas | grep -c ' measured$') == 2 ]]
	all_gone
}

@test "the script is killed: what it started ends within 2 s, containers are removed, and the run goes on" {
	start_loop
	[[ $(writers | wc -l) -ge 5 ]]
	kill -KILL "$script"
	all_gone
	taken_down 1
	goes_on
}

@test "its process group is killed" {
	start_loop
	kill -KILL -- "-$script"
	all_gone
	taken_down 1
	goes_on
}

@test "the process that measures is killed: its script ends the rest, with its status" {
	local status=0
	start_loop
	kill -KILL "$(pgrep --parent "$script" --full 'bash loop' | tail -n1)"
	wait "$script" || status=$?
	((status == 137))
	all_gone
	taken_down 1
	goes_on
}

@test "a killed verification writes nothing down, although what it waits for fails by its end" {
	cat >verification <<-'LOOP'
		measure_all() { spawn 2 in_turn a && spawn 2 in_turn b && await_spawned; }
		in_turn() {
			attend in_loadgen loadgen/measure prepare results/a-run || status=$?
			echo "$1 failed with $status" >>"$FAKE/failures"
		}
	LOOP
	sed -i '/^become_writer/e cat verification' loop
	echo 'STEP_ID=r01-0001' >results/a-run/step.sh
	start_loop
	[[ $(writers | wc -l) -ge 7 ]]
	kill -KILL "$script"
	all_gone
	[[ ! -e failures ]]
	taken_down 1
}

@test "all shells of a run are killed at once: the next call ends what is left of it" {
	local pid shells=()
	start_loop
	for pid in $(writers); do
		[[ $(tr '\0' ' ' <"/proc/$pid/cmdline") != 'bash loop ' ]] || shells+=("$pid")
	done
	((${#shells[@]} >= 3))
	kill -KILL "${shells[@]}"
	sleep 0.2
	[[ $(writers) ]]
	rm hangs
	run -0 --separate-stderr bash loop
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == "waiting for what is left of process $script, which measured a-run and was killed"* ]]
	[[ $(metas | grep -c ' measured$') == 2 ]]
	all_gone
}

@test "a second writer is refused, and names the first" {
	start_loop
	run -2 --separate-stderr bash loop
	# shellcheck disable=SC2154 # bats sets it
	[[ ${#stderr_lines[@]} == 1 ]]
	[[ $stderr =~ ^loop:\ a-run\ is\ being\ measured\ since\ [0-9]{4}-[0-9]{2}-[0-9]{2}\ [0-9:]{8}\ by\ process\ $script:\ wait\ for\ it,\ or\ end\ it\ \(kill\ $script\)$ ]]
	taken_down 0
	kill -0 "$script"
	kill -TERM "$script"
	all_gone
	goes_on
}

@test "a hangup ends a run as an interrupt does: nothing is left, and how to go on is said" {
	local status=0
	start_loop
	kill -HUP "$script"
	wait "$script" || status=$?
	((status == 130))
	all_gone
	taken_down 1
	[[ $(tail -n1 log) == 'interrupted; what is measured is kept in results/a-run; scripts/matrix.sh --resume a-run goes on' ]]
	goes_on
}

@test "so does one before there is anything to go on with: in the plan, and when the run's folder is opened" {
	local status call
	# shellcheck source=tests/shell/project.bash
	source "$BATS_TEST_DIRNAME/project.bash"
	copy_project "$PWD/clone"
	echo 'exit 0' >clone/scripts/setup.sh
	for call in 'image ls' 'config --format'; do
		cat >slow-docker <<-EOS
			#!/usr/bin/env bash
			[[ "\$*" != *"$call"* ]] || { : >"$PWD/came" && sleep 1; }
			exec "$PWD/clone-docker" "\$@"
		EOS
		chmod +x slow-docker
		rm -f came
		set -m
		BENCH_DOCKER=$PWD/slow-docker env --default-signal=INT clone/scripts/matrix.sh --stack aiohttp --scenario json >out 2>&1 3>&- &
		script=$!
		set +m
		for ((i = 0; i < 100; i++)); do
			[[ ! -e came ]] || break
			sleep 0.1
		done
		kill -HUP "$script" || true
		status=0
		wait "$script" || status=$?
		cat out
		[[ -e came && $status == 130 ]]
	done
}

@test "a closed terminal ends a run" {
	cat >terminal.py <<-'PTY'
		import os, pty, sys, time
		child, screen = pty.fork()
		if child == 0:
		    os.execvp("bash", ["bash", "loop"])
		while not os.path.exists("calls") or "measure prepare" not in open("calls").read():
		    time.sleep(0.05)
		os.close(screen)
		os.waitpid(child, 0)
	PTY
	TERM=xterm timeout 20 python3 terminal.py
	all_gone
	taken_down 1
	goes_on
}

@test "a run that ends by itself is taken down once, and nobody guards it any more" {
	rm hangs
	run -0 bash loop
	taken_down 1
	all_gone
}

@test "a run that goes on removes what is left of it, and says which services are tried again" {
	cat >docker <<-'EOS'
		#!/usr/bin/env bash
		case $* in
		ps*label=com.docker.compose.project=bench-a-run) grep -qs ' down ' calls || echo 1a ;;
		ps*label=bench.run=bench-a-run) printf '2b\n3c\n' ;;
		*) exec "$PROJECT/tests/support/fake_docker" "$@" ;;
		esac
	EOS
	chmod +x docker
	sed -i 's/^measure_run() {/&\ngo_on/' loop
	echo '{"outcome": "did not start", "detail": "no image"}' >results/a-run/raw/services/aiohttp-py313-debian/failure.json
	rm hangs
	BENCH_DOCKER=$PWD/docker run -0 --separate-stderr bash loop
	[[ ${stderr_lines[0]} == '1 service that failed is tried again: aiohttp-py313-debian' ]]
	[[ $(calls | grep -v '^network ls ' | head -n 2) == *' down '*$'\n''rm --force 2b 3c' ]]
	[[ $(metas | grep -c ' measured$') == 2 ]]
}

@test "of runs in the way, those that nobody measures are removed, with containers that are up" {
	# shellcheck source=scripts/lib/dead_runs.sh
	source "$PROJECT/scripts/lib/dead_runs.sh"
	local by_compose=label=com.docker.compose.project.working_dir
	engine() {
		case $* in
		network*) printf '%s\t2026-01-01 00:00:00 +0000 UTC\n' bench-a-run bench-old bench-gone bench-tools other ;;
		ps*"=bench-gone --filter $by_compose" | ps*"=bench-tools --filter $by_compose") ;;
		ps*"=bench-a-run --filter $by_compose") echo a-run ;;
		ps*) echo old$'\n'another ;;
		inspect*a-run) echo "$PWD/results/a-run" ;;
		inspect*) echo "$PWD" ;;
		*) echo "$*" >>removed ;;
		esac
	}
	docker=engine
	exec 8<>"$writer"
	flock 8
	remove_dead_runs
	[[ $(cut -d' ' -f3 removed) == $'bench-gone\nbench-tools' ]]
	exec 8>&-
	rm removed
	remove_dead_runs
	[[ $(cut -d' ' -f3 removed) == $'bench-a-run\nbench-gone\nbench-tools' ]]
}

@test "services that docker-compose up left up are removed once bench has ended, and not before" {
	# shellcheck source=scripts/lib/dead_runs.sh
	source "$PROJECT/scripts/lib/dead_runs.sh"
	mkdir -p clone/services && touch clone/services/matrix.toml
	engine_with_bench() {
		case $* in
		network*) printf 'bench\t2026-01-01 00:00:00 +0000 UTC\n' ;;
		'ps --all'*"service=bench --filter label=com.docker.compose.project.working_dir=$PWD/clone") cat state ;;
		ps*) echo a-service ;;
		inspect*) echo "$PWD/clone" ;;
		*) echo "$*" >>removed ;;
		esac
	}
	docker=engine_with_bench
	local state
	# Of services that somebody has started without bench there is no state.
	for state in running created ''; do
		printf '%s' "$state" >state
		remove_dead_runs
		[[ ! -e removed ]]
	done
	echo exited >state
	remove_dead_runs
	[[ $(<removed) == 'compose --project-name bench down --timeout 0 --volumes --remove-orphans' ]]
}
