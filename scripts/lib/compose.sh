# shellcheck shell=bash
# Docker Compose as this project calls it, and the tools' container, where Python runs. Only declares.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/engine.sh"
# shellcheck source=scripts/lib/harness.sh
source "${BASH_SOURCE[0]%/*}/harness.sh"

# compose ARGUMENT...: on the project's own files, with every setting. A run's services come in a file of its own.
compose() {
	local files=(--env-file "$root/.env")
	[[ ! -f $root/services/.env ]] || files+=(--env-file "$root/services/.env")
	COMPOSE_SERVICES=${compose_services:-bench} "$docker" compose --project-directory "$root" --file "$root/docker-compose.yml" "${files[@]}" "$@"
}

# in_tools ARGUMENT...: one command in a container of the tools' image (or $tools_image), the project
# read-only at /bench and results/ writable, as the user who runs the script. No network. Its label says for which run.
in_tools() {
	local nofile user
	nofile=$(setting NOFILE) || return
	know_engine || return
	user=$(results_user) || return
	# The one setting that is used before Python has checked them all.
	[[ $nofile =~ ^[1-9][0-9]*$ ]] || fail 2 "NOFILE='$nofile' is not a number above 0; fix it in .env or the environment"
	"$docker" run --rm --interactive --label "bench.run=${project:-}" --network none --ulimit "nofile=$nofile" --user "$user" --workdir /bench \
		"${confined[@]}" --tmpfs /tmp:exec \
		--volume "$root:/bench:ro" --volume "$root/results:/bench/results" "${tool_options[@]}" "$tools_image" "$@"
}
tool_options=() tools_image=bench/loadgen

# plan_verb VERB ARGUMENT...: a planning verb, with the host's images, engine and exported settings.
plan_verb() {
	local verb=$1 version engine commit branch images settings
	shift
	version=$(git -C "$root" describe --always --dirty --tags 2>/dev/null || echo unknown)
	commit=$(git -C "$root" rev-parse HEAD 2>/dev/null || true)
	branch=$(git -C "$root" symbolic-ref --quiet --short HEAD 2>/dev/null || true)
	engine=$(describe_engine)
	images=$("$docker" image inspect --format '{{index .RepoTags 0}}={{.Id}}' "${harness[@]/#/bench/}" | tr '\n' ' ')
	settings=$(sed -n 's/^\([A-Z_]*\)=.*/--env=\1/p' "$root/.env")
	mapfile -t tool_options <<<"$settings"
	tool_options+=("--env=BENCH_VERSION=$version" "--env=BENCH_ENGINE=$engine" "--env=BENCH_CONTAINERS=fresh for every measurement"
		"--env=BENCH_COMMIT=$commit" "--env=BENCH_BRANCH=$branch" "--env=BENCH_IMAGES=$images" "--env=BENCH_BASES=${bases_here:-}")
	"$docker" image ls --filter dangling=false --format '{{.Repository}}:{{.Tag}}' |
		in_tools python3 -m bench "$verb" --images=/dev/stdin "$@"
}

# only_plan VERB ARGUMENT...: a planning verb, and no more.
only_plan() {
	plan_verb "$@"
	exit
}
