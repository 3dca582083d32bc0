#!/usr/bin/env bats
# The rounds of scripts/profile.sh --table, with a Docker that only notes what it is asked for.
# shellcheck disable=SC2034,SC2317 # what the libraries read and call

bats_require_minimum_version 1.5.0

setup() {
	# shellcheck source=scripts/profile/cost_table.sh
	source "$BATS_TEST_DIRNAME/../../scripts/profile/cost_table.sh"
	docker=engine saved=$BATS_TEST_TMPDIR/table paths=(/json /raw/queries/20) python=3.13 servers=(srv) more=''
	first_pid() { echo 42; }
	counters() { echo "cpu_usage_ns $1"; }
	mkdir "$saved"
}

# engine exec [--interactive] CONTAINER COMMAND...: what runs in a container.
engine() {
	shift
	[[ $1 != --interactive ]] || shift
	echo "${1#"$project-"} ${*:2}" >>"$BATS_TEST_TMPDIR/calls"
	case ${2:-} in
	timeout) return 124 ;;
	wrk) [[ $* != *broken* ]] && echo 'what wrk prints' ;;
	python3) [[ ! ${broken:-} ]] && head -n1 ;;
	esac
}

@test "under the server: each path of one service after the other, warmed up once" {
	mkdir "$saved"/{a,b}
	under_server 1 a b
	under_server 2 a b
	[[ $(cd "$saved" && echo a/*.wrk) == 'a/json.1.wrk a/json.2.wrk a/raw-queries-20.1.wrk a/raw-queries-20.2.wrk' ]]
	[[ $(<"$saved/b/json.2.wrk") == 'what wrk prints' && $(<"$saved/b/json.2.before") == 'cpu_usage_ns 42' ]]
	[[ -e $saved/b/json.2.after ]]
	[[ $(grep -c ' timeout 0.3 wrk ' "$BATS_TEST_TMPDIR/calls") == 4 ]]
	urls=$(sed -n 's|.*-1 wrk -t 1 -c 16 -d 1s ||p' "$BATS_TEST_TMPDIR/calls" | head -n3 | xargs)
	[[ $urls == 'http://a:8080/json http://b:8080/json http://a:8080/raw/queries/20' ]]
}

@test "a load that fails ends the script" {
	mkdir "$saved/broken"
	run -1 under_server 1 broken
	[[ $output == *"wrk failed"* ]]
}

@test "in process: the apps that can be called get the driver on standard input" {
	mkdir "$saved"/{a,b,own}
	interface=([a]=asgi [b]=wsgi [own]=rsgi)
	in_process 3 a b own
	[[ $(<"$BATS_TEST_TMPDIR/calls") == $'a-1 python3 - asgi 0.1 /json /raw/queries/20\nb-1 python3 - wsgi 0.1 /json /raw/queries/20' ]]
	[[ $(cd "$saved" && echo */*.in-process) == 'a/3.in-process b/3.in-process' ]]
	[[ $(<"$saved/a/3.in-process") == $(head -n1 "$root/scripts/profile/in_process.py") ]]
}

@test "an app that cannot be called leaves no round behind" {
	mkdir "$saved/a"
	interface=([a]=asgi) broken=1
	run -1 in_process 1 a
	[[ $output == *"a cannot be called in process; see $saved/a/1.in-process.log" && ! -e $saved/a/1.in-process ]]
}

@test "more rounds are numbered after those that are there, each table for itself" {
	mkdir "$saved/a"
	[[ $(next_round a under_server) == 1 && $(next_round a in_process) == 1 ]]
	touch "$saved"/a/{json.1.wrk,json.10.wrk,raw-queries-20.9.wrk,2.in-process,2.in-process.log}
	[[ $(next_round a under_server) == 11 && $(next_round a in_process) == 3 ]]
}

@test "all services of a group are up for all of its rounds, of each table that is asked for" {
	start_services() { echo "start $*"; }
	stop_services() { echo stop; }
	under_server() { echo "server $*" && touch "$saved/a/json.$1.wrk"; }
	in_process() { echo "process $*"; }
	rounds=2 tables=(under_server in_process)
	run -0 cost a=asgi b=asgi
	[[ $output == $'start a b\nserver 1 a b\nserver 2 a b\nprocess 1 a b\nprocess 2 a b\nstop' ]]
	tables=(under_server)
	[[ $(cost a=asgi b=asgi) == $'start a b\nserver 3 a b\nserver 4 a b\nstop' ]]
}

@test "a new table begins without what the last one left, unless more is asked for" {
	in_tools() { [[ $* != *profile-services* ]] || printf 'a=asgi b=asgi\nc=rsgi\n'; }
	# As docker run --interactive does, which start_services calls.
	cost() { echo "$DB_POOL_TOTAL: $*" && cat >/dev/null; }
	touch "$saved/old"
	more=1
	run -0 cost_table </dev/null
	[[ $output == $'4: a=asgi b=asgi\n4: c=rsgi' && -e $saved/old ]]
	more=''
	run -0 cost_table </dev/null
	[[ ! -e $saved/old ]]
}

@test "what the command line lacks is said in a line" {
	local script=$root/scripts/profile.sh
	run -2 "$script" --table
	[[ $output == 'profile.sh: which servers? see --help' ]]
	run -2 "$script" --table --rounds 0 uvicorn
	[[ $output == "profile.sh: --rounds '0' is not a number from 1 to 99" ]]
	run -2 "$script" uvicorn-asgi-py313-debian
	[[ $output == 'profile.sh: which service and paths? see --help' ]]
	run -0 "$script" --help
	[[ $output == 'Usage: scripts/profile.sh SERVICE PATH...'* && $output == *--in-process* && $output != *'set -E'* ]]
}
