# shellcheck shell=bash
# What this project has left on this machine: found by its labels, printed, removed. Only declares.

# shellcheck source=scripts/lib/dead_runs.sh
source "${BASH_SOURCE[0]%/*}/dead_runs.sh"
# shellcheck source=scripts/lib/harness.sh
source "${BASH_SOURCE[0]%/*}/harness.sh"
# shellcheck source=scripts/lib/own_images.sh
source "${BASH_SOURCE[0]%/*}/own_images.sh"

containers=() networks=() volumes=() folders=() trees=() under_way=()

# is_ours PROJECT [FOLDER]: whether a Compose project is a run (open_run names it), or `docker-compose up` in a clone of this
# project. Anyone's folder may be called bench.
is_ours() { [[ $1 =~ ^bench-[0-9]{8}-[0-9]{6}-.+-[0-9]+$ || ($1 == bench && -f ${2:-}/services/matrix.toml) ]]; }

# find_left_of_runs: sets `containers`, `networks` and `volumes` to what no run needs, `under_way` to the projects that do.
find_left_of_runs() {
	local key=com.docker.compose.project id state name folder labelled list
	local -A up=()
	list=$("$docker" ps --all --format "{{.ID}} {{.State}} {{.Label \"$key\"}} {{.Label \"$key.working_dir\"}}" --filter "label=$key") || return
	while read -r id state name folder; do
		is_ours "$name" "$folder" || continue
		if [[ $state == running ]] && ! is_abandoned "$id"; then up[$name]=1; fi
	done <<<"$list"
	while read -r id state name folder; do
		! is_ours "$name" "$folder" || [[ ${up[$name]:-} ]] || containers+=("$id")
	done <<<"$list"
	# Those in which Python works for a script.
	list=$("$docker" ps --all --format '{{.ID}} {{.State}}' --filter label=bench.run) || return
	while read -r id state; do
		if [[ $state == running ]]; then up["container $id"]=1; elif [[ $id ]]; then containers+=("$id"); fi
	done <<<"$list"
	list=$("$docker" network ls --format "{{.ID}} {{.Label \"$key\"}} {{.Label \"bench.network\"}}" --filter "label=$key") || return
	while read -r id name labelled; do
		is_ours "$name" || [[ $name == bench && $labelled ]] || continue
		[[ ${up[$name]:-} ]] || networks+=("$id")
	done <<<"$list"
	list=$("$docker" volume ls --format "{{.Name}} {{.Label \"$key\"}}" --filter "label=$key") || return
	while read -r id name; do
		! is_ours "$name" || [[ ${up[$name]:-} ]] || volumes+=("$id")
	done <<<"$list"
	under_way=("${!up[@]}")
}

# find_folders: sets `folders` and `trees` to what a killed script has left, untouched for a day.
find_folders() {
	local path list
	for path in "$root"/results/.{app,cost,baseline}-?????? "$root"/results/published/.??????; do
		! is_left "$path" || folders+=("$path")
	done
	list=$(git -C "$root" worktree list --porcelain 2>/dev/null) || return 0
	# scripts/branches.sh makes them.
	while read -r path; do
		path=${path#worktree }
		[[ $path != */tmp.??????????/tree ]] || ! is_left "$path" || trees+=("$path")
	done <<<"$list"
}

is_left() {
	local now changed
	[[ -d $1 ]] || return
	printf -v now '%(%s)T' -1
	changed=$(stat -c %Y "$1") || return
	((changed < now - 86400))
}

print_left() {
	local name path
	for name in "${under_way[@]}"; do echo "under way, and left alone: $name"; done
	echo "containers of runs that have ended: ${#containers[@]}"
	echo "networks: ${#networks[@]}"
	echo "volumes: ${#volumes[@]}"
	print_images
	echo "temporary folders of killed scripts: $((${#folders[@]} + ${#trees[@]}))"
	for path in "${folders[@]}" "${trees[@]}"; do printf '  %s, %s\n' "$path" "$(du -sh "$path" | cut -f1)"; done
}

# remove_all_left CACHE: what was printed (what the engine refuses it says itself), and how much more is free on the engine's disk then, where that is this machine's.
remove_all_left() {
	local path before after place
	place=$("$docker" info --format '{{.DockerRootDir}}') || return
	before=$(df --output=avail -B1 "$place" 2>/dev/null | tail -n1) || before=''
	((${#containers[@]} == 0)) || "$docker" rm --force --volumes "${containers[@]}" >/dev/null || true
	((${#networks[@]} == 0)) || "$docker" network rm "${networks[@]}" >/dev/null || true
	((${#volumes[@]} == 0)) || "$docker" volume rm "${volumes[@]}" >/dev/null || true
	remove_images
	[[ ! $1 ]] || "$docker" builder prune --all --force >/dev/null || true
	for path in "${folders[@]}"; do rm -rf "$path"; done
	for path in "${trees[@]}"; do git -C "$root" worktree remove --force "$path" && rmdir "${path%/*}"; done
	[[ $before ]] || return 0
	after=$(df --output=avail -B1 "$place" | tail -n1)
	echo "free on the engine's disk: $(numfmt --to=si --suffix=B "$before") before, $(numfmt --to=si --suffix=B "$after") now"
}
