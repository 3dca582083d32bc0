# shellcheck shell=bash
# What a fault run kills: found by process ids and containers of that run, never by a process name. Only declares; moment.bash has
# the variables that it reads and sets.
# shellcheck disable=SC2034,SC2154

is_engine() { [[ $1 == daemon || $1 == restart ]]; }

# strike SUBJECT: waits for it, up to 5 s, and kills it. Sets `hit` (the phase), `victim` and `killed` (ns); sets `goes` to 0 if it
# does not exist because the run was faster.
strike() {
	local i
	for ((i = 0; i < 50; i++)); do
		kill -0 "$script" 2>/dev/null || break
		find_phase
		hit=$phase killed=$(date +%s%N)
		! "strike_${1//-/_}" 2>/dev/null || return 0
		sleep 0.1
	done
	hit=none killed='' goes=0
}

strike_script() { victim=script && kill -KILL "$script"; }
strike_group() { victim=group && kill -KILL -- "-$script"; }
strike_hangup() { victim=script && kill -HUP "$script"; }

# The worker is scripts/measure.sh, which the script has started in its own process group.
strike_worker() {
	local pid
	victim=worker
	for pid in $(pgrep --parent "$script"); do
		[[ $(tr '\0' ' ' <"/proc/$pid/cmdline") != *'scripts/measure.sh '* ]] || { kill -KILL "$pid" && return 0; }
	done
	return 1
}

# containers_of_run: prints `NAME SERVICE` of each running container.
containers_of_run() {
	on_engine ps --filter "label=com.docker.compose.project.working_dir=$folder" --format '{{.Names}} {{.Label "com.docker.compose.service"}}'
}

# choose_container PATTERN: sets `victim` and `container` to one whose service matches; different moments choose different ones.
choose_container() {
	local lines found
	[[ $folder ]] || return
	lines=$(containers_of_run | awk -v wanted="$1" '$2 ~ wanted' | sort) || return
	[[ $lines ]] || return
	mapfile -t found <<<"$lines"
	found=("${found[number % ${#found[@]}]}")
	container=${found[0]% *} victim=${found[0]#* }
}
container=''

strike_container() { choose_container "$1" && on_engine kill --signal KILL "$container" >/dev/null; }

strike_server() { strike_container '-py313-'; }
strike_loadgen() { strike_container '^loadgen$'; }
strike_postgres() { strike_container '^postgres$'; }
strike_upstream() { strike_container '^upstream$'; }

# Kills a process of a server that has no children and is not its only one.
strike_server_worker() {
	local lines leaves
	choose_container '-py313-' || return
	lines=$(on_engine top "$container" -eo pid,ppid,args | awk 'NR > 1 && !/resource_tracker/ { args[$1] = $0; parent[$2] = 1 }
		END { for (pid in args) if (!(pid in parent)) print pid }' | sort -n) || return
	mapfile -t leaves <<<"$lines"
	((${#leaves[@]} > 1)) || return
	kill -KILL "${leaves[-1]}"
}

strike_daemon() { victim=daemon && second_daemon_kill KILL && second_daemon_start; }
strike_restart() { victim=daemon && second_daemon_kill TERM && second_daemon_start; }

# begin_elsewhere LOG: prepares a run on the second Docker daemon. That has no build cache, so images are built here and copied, and
# the run is interrupted as soon as their ids are known. Sets `engine` and `name`.
begin_elsewhere() {
	local ids=()
	second_daemon_up
	begin_run "$1.here" "${selection[@]}"
	while kill -0 "$script" 2>/dev/null; do
		mapfile -t ids < <(find "$root"/results/2*/raw/services -name image.id 2>/dev/null)
		((${#ids[@]} < 2)) || break
		sleep 0.1
	done
	kill -INT "$script"
	wait "$script" || true
	name=$(run_of "$1.here")
	name=${name##*/}
	mapfile -t ids < <(cat "$root/results/$name"/raw/services/*/image.id)
	second_daemon_takes "${ids[@]}"
	engine=("DOCKER_HOST=unix://$daemon_home/docker.sock")
}
