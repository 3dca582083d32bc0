# shellcheck shell=bash
# The containers of one run, as verify.sh and measure.sh ask for them: fresh ones for every measurement. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/measure.sh
source "${BASH_SOURCE[0]%/*}/measure.sh"
# shellcheck source=scripts/lib/counters.sh
source "${BASH_SOURCE[0]%/*}/counters.sh"

project='' server_pid=''

report() { in_tools python3 -m report "$@"; }

# run_compose ARGUMENT...: Compose on this run's own resolved file, and on no other.
run_compose() { "$docker" compose --project-name "$project" --file "$run_dir/compose.yml" "$@"; }

in_loadgen() { "$docker" exec "$project-loadgen-1" "$@"; }

# start_service SERVICE [loadgen]: a fresh container of it (and of loadgen). Sets image_id and server_pid.
start_service() {
	run_compose up --detach --no-deps --no-build --force-recreate --timeout 0 "$@" >"$(start_log "$1")" 2>&1 &&
		read -r server_pid image_id < <("$docker" inspect --format '{{.State.Pid}} {{.Image}}' "$project-$1-1")
}

start_log() { printf '%s' "$run_dir/raw/services/$1/start.log"; }

stop_service() { "$docker" rm --force --volumes "$project-$1-1" >/dev/null 2>&1 || true; }

is_running() { [[ $("$docker" inspect --format '{{.State.Running}}' "$project-$1-1" 2>/dev/null) == true ]]; }

server_log() { "$docker" logs --tail 50 "$project-$1-1"; }

server_state() {
	counters "$server_pid"
	"$docker" inspect --format 'running {{.State.Running}}
oom_killed {{.State.OOMKilled}}
restarts {{.RestartCount}}' "$project-$1-1"
}

# server_limits SERVICE: what it really has, read inside it.
server_limits() {
	# shellcheck disable=SC2016 # expanded in the container
	"$docker" exec "$project-$1-1" sh -c 'echo "nofile $(ulimit -n)"; echo "net.core.somaxconn $(cat /proc/sys/net/core/somaxconn)"' ||
		echo "null the container ended"
}

# Whether CPython's JIT is there and at work, as the interpreter itself says (sys._jit, new in 3.14), or its build.
jit_state='
import sys, sysconfig
jit = getattr(sys, "_jit", None)
if sys.implementation.name == "pypy":
    print("null PyPy has a JIT of its own, always on")
elif jit:
    print("available", jit.is_available())
    print("enabled", jit.is_enabled())
else:
    print("available", "--enable-experimental-jit" in (sysconfig.get_config_var("CONFIG_ARGS") or ""))
'

# keep_facts SERVICE IMAGE: what it is made of, raw; a run is not continued with another image.
keep_facts() {
	local folder=$run_dir/raw/services/$1 id
	if [[ -e $folder/image.json ]]; then
		id=$("$docker" image inspect --format '{{.Id}}' "$2")
		grep -q "\"$id\"" "$folder/image.json" || fail 2 "$1 is another image than the one $run began with: start a new run"
		return
	fi
	local once=("$docker" run --rm --network none --entrypoint '' --env "PYTHON_JIT=${PYTHON_JIT:-0}" "$2")
	"${once[@]}" cat /app/packages.txt | save "$folder/packages.txt"
	"${once[@]}" python3 -VV | save "$folder/python.txt"
	"${once[@]}" python3 -c "$jit_state" | save "$folder/jit.txt"
	"$docker" image inspect "$2" | save "$folder/image.json"
}
