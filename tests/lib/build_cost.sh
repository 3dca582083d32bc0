# shellcheck shell=bash
# The builds of scripts/harness-cost.sh, in a copy of the services. Only declares; the caller sets `work`, a folder.

# shellcheck source=scripts/lib/engine.sh
source "${BASH_SOURCE[0]%/*}/../../scripts/lib/engine.sh"
# shellcheck source=tests/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"

work=''

# copy_services: copies the services' files and renames their images, so that tests can change them without leaving a trace.
copy_services() {
	mkdir "$work/project"
	cp -r "$root"/{.env,docker-compose.yml,postgres,services} "$work/project/"
	sed -i 's|^    image: "bench/|    image: "harness-cost/|' "$work"/project/services/{bench,compose}.yml
}

# copied_compose ARGUMENT...: runs Compose on the copy.
copied_compose() {
	local root=$work/project
	compose --profile '*' "$@"
}

# build_cold GLOB: builds every service that matches, several at a time. Writes `NAME STATUS BEGIN_NS END_NS` for each to
# `builds`, and the layers of its image to `histories`.
build_cold() {
	# shellcheck disable=SC2034 # compose uses it
	local name names=() compose_services=compose
	# An additional line in each lock invalidates all cached layers.
	find "$work/project/services/locks" -name '*.txt' -exec sed -i "\$a # cold $(date +%s%N)" {} +
	copied_compose config --services >"$work/services"
	while read -r name; do
		# shellcheck disable=SC2053 # a glob
		[[ $name != $1 ]] || names+=("$name")
	done <"$work/services"
	((${#names[@]})) || fail 2 "no service matches '$1'"
	copied_compose config "${names[@]}" >"$work/resolved.yml"
	mkdir "$work/histories"
	say "building ${#names[@]} services from nothing"
	for name in "${names[@]}"; do spawn "$(nproc)" build_one "$name"; done
	await_spawned
	"$docker" image rm "${names[@]/#/harness-cost/}" >/dev/null 2>&1 || true
}

build_one() {
	local status=0 begin
	begin=$(date +%s%N)
	"$docker" compose --project-name harness-cost --file "$work/resolved.yml" build "$1" >"$work/$1.log" 2>&1 || status=$?
	printf '%s %s %s %s\n' "$1" "$status" "$begin" "$(date +%s%N)" >>"$work/builds"
	if ((status)); then
		say "$1 does not build: $(tail -n1 "$work/$1.log")"
	else
		"$docker" history --no-trunc --human=false --format '{{json .}}' "harness-cost/$1" >"$work/histories/$1.jsonl"
	fi
}
