# shellcheck shell=bash
# What kind of engine answers, and what it lacks (docs/engines.md). Only declares; engine.sh has `docker`.

# know_engine: sets and exports BENCH_ENGINE_KIND (`kinds` in driver/docker.py has its words), unless the engine does not answer.
# Podman has no BuildKit: its own builder is asked.
# shellcheck disable=SC2154 # engine.sh sets docker
know_engine() {
	local kinds
	if [[ ! ${BENCH_ENGINE_KIND:-} ]]; then
		kinds=$(BENCH_DOCKER=$docker PYTHONPATH=$root python3 -S -m driver engine) || return
		[[ ! $kinds ]] || export BENCH_ENGINE_KIND=$kinds
	fi
	! engine_is podman || export DOCKER_BUILDKIT=0
}

engine_is() { [[ " ${BENCH_ENGINE_KIND:-} " == *" $1 "* ]]; }

# describe_engine: version, and what is not as with Docker, for the report.
describe_engine() {
	local version
	version=$("$docker" version --format '{{.Server.Version}}') || return
	know_engine || return
	[[ ${BENCH_ENGINE_KIND:-docker} == docker ]] || version+=" ($BENCH_ENGINE_KIND)"
	printf '%s' "$version"
}

# results_user: who writes results/ in a container: whoever runs the script, who is root in the containers of a rootless engine.
results_user() {
	know_engine || return
	if engine_is rootless && ((EUID)); then printf 0:0; else printf '%s:%s' "$(id -u)" "$(id -g)"; fi
}

# check_engine: an error for what cannot work.
check_engine() {
	know_engine || return
	! engine_is rootless || ((EUID)) ||
		fail 2 "the engine is rootless and this script is root, whose results/ it cannot write: run it as the engine's user"
}

# say_what_lacks: a line for each thing that a run misses with this engine.
say_what_lacks() {
	! engine_is no-cpuset || say "this engine pins no container to CPUs (rootless without the cpuset controller): server, load generator and database share them (docs/engines.md)"
	! engine_is no-memory || say "this engine limits no memory: MEMORY has no effect (docs/engines.md)"
	! engine_is podman || say "podman: containers reach what listens on this host, at their network's first address (docs/engines.md)"
	! engine_is elsewhere || say "the engine is in another machine (Docker Desktop, a virtual machine): memory and CPU time of services are null (docs/engines.md)"
}
