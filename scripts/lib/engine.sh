# shellcheck shell=bash
# Finds Python and Docker; runs verbs on this machine or in the tools' container. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"

docker=docker

# What Debian 12 lacks is unpacked here by scripts/setup.sh --setup; what the system has itself is preferred. Its file `packages` lists
# what apt installed.
engine_home=/opt/bench-docker
PATH+=:$engine_home/usr/bin:$engine_home/usr/sbin

# The images that every run needs.
# shellcheck disable=SC2034 # scripts/sbom.sh and the tests use it
harness=(loadgen postgres upstream)

# Restrictions of containers started without Compose; services/template.yml has those of the others.
# shellcheck disable=SC2034 # scripts that run containers use it
confined=(--read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 4096 --log-driver json-file --log-opt max-size=10m)

# have_python: whether python3 is new enough for driver/, which checks the version itself.
have_python() { (cd "$root" && python3 -c 'import driver') 2>/dev/null; }

# need_python: for what runs driver/ next.
need_python() { command -v python3 >/dev/null || fail 2 "no python3: install Python 3.9 or newer, or run scripts/setup.sh --setup as root on Debian"; }

# find_docker: sets `docker` to the first client that has Compose and buildx; false if there is none. Exported, so that scripts
# called from this one need not search again.
find_docker() {
	[[ ${BENCH_DOCKER:-} ]] || BENCH_DOCKER=$(in_driver harness client 2>/dev/null) || return
	export BENCH_DOCKER
	docker=$BENCH_DOCKER
}

engine_answers() { "$docker" version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# need_engine: fails, with one line that says how to fix it, unless an engine answers. Exports its kind, so that it is asked once.
need_engine() {
	need_python
	ask_engine engine || exit
}

# need_tools: as need_engine, and builds the image for in_tools if it is missing or outdated.
need_tools() {
	local status=0
	need_python
	ask_engine check || status=$?
	case $status in
	0) ;;
	3) "$root/scripts/setup.sh" ;;
	*) exit "$status" ;;
	esac
}

# ask_engine VERB: exports what `harness VERB` of driver/ prints: the Docker client and the kind of engine. Its status is that of the verb.
ask_engine() {
	local found status=0
	[[ $root != *:* ]] || fail 2 "Docker cannot mount a folder with ':' in its path: move $root"
	found=$(in_driver harness "$1") || status=$?
	[[ $found ]] || return "$status"
	{ read -r BENCH_DOCKER && read -r BENCH_ENGINE_KIND; } <<<"$found"
	export BENCH_DOCKER BENCH_ENGINE_KIND
	docker=$BENCH_DOCKER
	# Podman has no BuildKit and uses its own builder.
	[[ " $BENCH_ENGINE_KIND " != *' podman '* ]] || export DOCKER_BUILDKIT=0
	return "$status"
}

# in_driver VERB ARGUMENT...: runs a verb of driver/, on this machine; without site-packages (-S), it starts faster.
in_driver() { (cd "$root" && exec python3 -S -m driver "$@"); }

# in_tools ARGUMENT...: runs a command in a container of $tools_image, with $tool_options for Docker (see driver/compose.py).
in_tools() { in_driver tools "${tool_options[@]}" -- "$tools_image" "$@"; }
tool_options=() tools_image=bench/loadgen

# act VERB ARGUMENT...: replaces this script by a verb of driver/, which runs in the folder that this was called in.
act() {
	if [[ " $* " == *' --setup '* ]]; then
		[[ " $* " != *' --quiet '* ]] || export BENCH_QUIET=1
		"$root/scripts/setup.sh" --setup
	fi
	need_python
	export BENCH_FROM=$PWD
	cd "$root" || exit
	exec python3 -S -m driver "$@"
}
