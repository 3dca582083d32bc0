# shellcheck shell=bash
# What kind of engine answers, and what it lacks (docs/engines.md). Only declares; engine.sh has `docker`.

# know_engine: sets and exports BENCH_ENGINE_KIND, words of `podman`, `rootless`, `elsewhere` (its containers' processes are not this
# machine's), `no-cpuset` and `no-memory` (limits that it ignores), or `docker`. Podman has no BuildKit: its own builder is asked.
# shellcheck disable=SC2154 # engine.sh sets docker
know_engine() {
	local parts found system='' kernel='' security='' cpuset='' memory='' kinds=()
	if [[ ! ${BENCH_ENGINE_KIND:-} ]]; then
		parts=$("$docker" version --format '{{range .Server.Components}}{{.Name}};{{end}}' 2>/dev/null) || return 0
		found=$("$docker" info --format \
			'{{.OperatingSystem}}|{{.KernelVersion}}|{{.SecurityOptions}}|{{.CPUSet}}|{{.MemoryLimit}}' 2>/dev/null) || found=''
		IFS='|' read -r system kernel security cpuset memory <<<"$found" || return
		[[ $parts != *Podman* ]] || kinds+=(podman)
		[[ $security != *name=rootless* ]] || kinds+=(rootless)
		[[ $system != 'Docker Desktop'* && (! $kernel || $kernel == "$(uname -r)") ]] || kinds+=(elsewhere)
		[[ $cpuset != false ]] || kinds+=(no-cpuset)
		[[ $memory != false ]] || kinds+=(no-memory)
		export BENCH_ENGINE_KIND="${kinds[*]:-docker}"
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
