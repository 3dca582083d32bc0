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

# The rights of a container that Compose does not start; services/template.yml has those of the others.
# shellcheck disable=SC2034 # whoever runs one uses it
confined=(--read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 4096 --log-driver json-file --log-opt max-size=10m)

engine_answers() { "$docker" version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# need_engine: an engine that answers, or a one-line error that says how to fix it.
need_engine() {
	[[ $root != *:* ]] || fail 2 "Docker mounts no folder with ':' in its path: move $root"
	find_docker || fail 2 "no Docker with Compose >= $compose_at_least and buildx: install it, or run scripts/setup.sh --setup as root on Debian"
	engine_answers || fail 2 "the Docker daemon does not answer: start it (systemctl start docker), or run scripts/setup.sh --setup as root on Debian"
	check_engine
}
