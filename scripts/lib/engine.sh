# shellcheck shell=bash
# Docker Engine, its CLI and Compose: find them. Only declares.

# shellcheck source=scripts/lib/common.sh
source "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=scripts/lib/engine_kind.sh
source "${BASH_SOURCE[0]%/*}/engine_kind.sh"

docker=docker

compose_at_least=2.20

# find_docker: sets `docker` to the first client that has Compose and buildx; false when there is none. What one script
# has found, those that it calls need not look for.
find_docker() {
	local candidate version
	[[ -z ${BENCH_DOCKER:-} ]] || { docker=$BENCH_DOCKER && return; }
	for candidate in docker /usr/bin/docker /usr/local/bin/docker; do
		version=$("$candidate" compose version --short 2>/dev/null) || continue
		"$candidate" buildx version >/dev/null 2>&1 || continue
		[[ $(printf '%s\n' "$compose_at_least" "${version#v}" | sort -V | head -n1) == "$compose_at_least" ]] || continue
		docker=$candidate
		export BENCH_DOCKER=$docker
		return
	done
	return 1
}

# own_docker ARGUMENT...: without what is set here under the names of a user's own environment file (open_run sets own_unset):
# their values are those of the file, and in no other.
own_docker() {
	if ((${#own_unset[@]})); then env "${own_unset[@]}" "$docker" "$@"; else "$docker" "$@"; fi
}
own_unset=()

# at ROLE ARGUMENT...: Docker on the engine that has this role: server, loadgen or support (database, upstream). All of them are
# this machine's, unless the run is on several (roles.sh sets their contexts).
at() { on "${context_of[$1]:-}" "${@:2}"; }
declare -gA context_of=()

# What harness-cost.sh --network said last, below results/; in a run's folder, what it had said when that began
# (bench/words/runs/machines.py).
# shellcheck disable=SC2034 # several.sh uses it
network_cost_file=network-cost.txt

# on CONTEXT ARGUMENT...: Docker on the engine of a context.
on() {
	local reached
	reach "$1"
	"$docker" "${reached[@]}" "${@:2}"
}

# reach CONTEXT: sets `reached` to the client's options for the engine of a context, or at a URL (ssh://USER@HOST).
reach() {
	case $1 in
	'') reached=() ;;
	*://*) reached=(--host "$1") ;;
	*) reached=(--context "$1") ;;
	esac
}

# role_of SERVICE: sets `role`.
role_of() {
	case $1 in
	loadgen) role=loadgen ;;
	postgres | upstream | own-*) role=support ;;
	*) role=server ;;
	esac
}

# beside SERVICE ARGUMENT...: Docker on the engine where this service is.
beside() {
	local role
	role_of "$1"
	at "$role" "${@:2}"
}

# look_at ROLE FORMAT CONTAINER...: a line of each that is there; one that is gone has none. An engine that is away may be starting
# again: it is waited for, as all would seem to have ended by themselves.
look_at() {
	local tries lines away=''
	for ((tries = 0; tries < 40; tries++)); do
		lines=$(at "$1" inspect --format "$2" "${@:3}" 2>/dev/null) && break
		# Of another machine need_nodes says that it is lost.
		[[ ! ${context_of[$1]:-} ]] || break
		if ! engine_answers; then
			away=yes
			sleep 0.5
		elif [[ $away ]]; then
			away=''
		else
			break
		fi
	done
	[[ ! $lines ]] || printf '%s\n' "$lines"
}

# The rights of a container that Compose does not start; services/template.yml has those of the others.
# shellcheck disable=SC2034 # whoever runs one uses it
confined=(--read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 4096 --log-driver json-file --log-opt max-size=10m)

# How Compose starts a new container.
# shellcheck disable=SC2034
fresh=(up --detach --no-deps --no-build --force-recreate --timeout 0)

engine_answers() { "$docker" version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# engine_is_gone: the script ends with this where the daemon has ended while it ran.
engine_is_gone() { engine_answers || fail 1 "the Docker daemon does not answer any more: start it (systemctl start docker)"; }

# need_engine: an engine that answers, or a one-line error that says how to fix it.
need_engine() {
	[[ $root != *:* ]] || fail 2 "Docker mounts no folder with ':' in its path: move $root"
	find_docker || fail 2 "no Docker with Compose >= $compose_at_least and buildx: install it, or run scripts/setup.sh --setup as root on Debian"
	engine_answers || fail 2 "the Docker daemon does not answer: start it (systemctl start docker), or run scripts/setup.sh --setup as root on Debian"
	check_engine
}
