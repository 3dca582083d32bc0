# shellcheck shell=bash
# The builds of scripts/bench-self.sh, of a copy of the services. Only declares; the caller sets `work`.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/jobs.sh
source "${BASH_SOURCE[0]%/*}/jobs.sh"

work=''

# copy_services: the services' own files, to change them without leaving a trace.
copy_services() {
	mkdir "$work/project"
	cp -r "$root"/{.env,docker-compose.yml,postgres,services} "$work/project/"
}

# copied_compose ARGUMENT...: Compose on the copy, whose images have names of their own.
copied_compose() {
	local root=$work/project
	sed -i 's|^    image: "bench/|    image: "bench-self/|' "$root"/services/{bench,compose}.yml || return
	compose --profile '*' "$@"
}

# build_cold GLOB: every service that matches, side by side; a line `NAME STATUS BEGIN_NS END_NS` for each in
# `builds`, and in `histories` the layers of its image.
build_cold() {
	local name names=() all compose_services=compose
	# A line more in each lock, and no layer that installs from them is known.
	find "$work/project/services/locks" -name '*.txt' -exec sed -i "\$a # cold $(date +%s%N)" {} +
	all=$(copied_compose config --services)
	while read -r name; do
		# shellcheck disable=SC2053 # a glob
		[[ $name != $1 ]] || names+=("$name")
	done <<<"$all"
	((${#names[@]})) || fail 2 "no service matches '$1'"
	copied_compose config "${names[@]}" >"$work/resolved.yml"
	mkdir "$work/histories"
	say "building ${#names[@]} services from nothing"
	for name in "${names[@]}"; do spawn "$(nproc)" build_one "$name"; done
	await_spawned
	"$docker" image rm "${names[@]/#/bench-self/}" >/dev/null 2>&1 || true
}

build_one() {
	local status=0 begin
	begin=$(date +%s%N)
	"$docker" compose --project-name bench-self --file "$work/resolved.yml" build "$1" >"$work/$1.log" 2>&1 || status=$?
	printf '%s %s %s %s\n' "$1" "$status" "$begin" "$(date +%s%N)" >>"$work/builds"
	((status == 0)) || { say "$1: does not build: $(tail -n1 "$work/$1.log")" && return; }
	"$docker" history --no-trunc --human=false --format '{{json .}}' "bench-self/$1" >"$work/histories/$1.jsonl"
}
