# shellcheck shell=bash
# What a service is made of and what it is allowed, raw, as the report keeps it. Only declares.

# shellcheck source=scripts/lib/compose.sh
source "${BASH_SOURCE[0]%/*}/compose.sh"
# shellcheck source=scripts/lib/state.sh
source "${BASH_SOURCE[0]%/*}/state.sh"

# service_limits NAME: what it really has, read inside it.
service_limits() {
	# shellcheck disable=SC2016 # expanded in the container
	at server exec "$project-$1-1" sh -c 'echo "nofile $(ulimit -n)"; echo "net.core.somaxconn $(cat /proc/sys/net/core/somaxconn)"' ||
		echo "null the container ended"
}

# Whether CPython's JIT is there and at work, as the interpreter itself says (sys._jit, new in 3.14), or its build.
jit_state='
import sys, sysconfig
jit = getattr(sys, "_jit", None)
if sys.implementation.name == "pypy":
    print("null PyPy has a JIT of its own, always on")
elif jit:
    print("available", jit.is_available())
    print("enabled", jit.is_enabled())
else:
    print("available", "--enable-experimental-jit" in (sysconfig.get_config_var("CONFIG_ARGS") or ""))
'

# describe_base BASE IMAGE: name, id and registries' digests (none of one that was made here) of what the image was built on. A base
# of this name that has come since is not that one: its layers are not the image's first.
describe_base() {
	local facts of_base='' of_image known='"missing": "the base that it was built on is not here under this name"'
	facts=$("$docker" image inspect --format '{{json .RootFS.Layers}} "id": {{json .Id}}, "repo_digests": {{json .RepoDigests}}' "$1" 2>/dev/null) || facts=''
	of_base=${facts%% *}
	of_image=$("$docker" image inspect --format '{{json .RootFS.Layers}}' "$2") || return
	[[ $of_base != '["'* || $of_image != "${of_base%]}"[],]* ]] || known=${facts#* }
	printf '{"name": "%s", %s}\n' "$1" "$known"
}

# save_provenance NAME: what it is made of, raw; a run does not go on with another image. image.id comes last.
save_provenance() {
	local folder=$run_dir/raw/services/$1 image=${IMAGE_OF[$1]} id settings
	id=$("$docker" image inspect --format '{{.Id}}' "$image")
	if [[ -e $folder/image.id ]]; then
		[[ $(<"$folder/image.id") == "$id" ]] || fail 2 "$1 is another image than the one $run began with: start a new run"
		return
	fi
	# In one container, the files apart by form feeds.
	read -r -a settings <<<"PYTHON_JIT=${PYTHON_JIT:-0} ${SETTINGS_OF[$1]:-}"
	# shellcheck disable=SC2016 # the container's shell expands it
	"$docker" run --rm --label "bench.run=$project" --network none "${confined[@]}" --memory 512m --ulimit "nofile=${NOFILE:-16384}" --tmpfs /tmp:mode=1777 --entrypoint '' \
		"${settings[@]/#/--env=}" "$image" sh -c '
		cat /app/packages.txt && printf "\f" && python3 -VV && printf "\f" && cat /etc/os-release && printf "\f" && python3 -c "$0"
		' "$jit_state" | save "$folder/facts"
	local part index=0 names=(packages python os-release jit)
	while IFS= read -r -d $'\f' part || [[ $part ]]; do
		save "$folder/${names[index++]}.txt" <<<"${part%$'\n'}"
	done <"$folder/facts"
	rm "$folder/facts"
	"$docker" image inspect "$image" | save "$folder/image.json"
	describe_base "${BASE_OF[$1]}" "$image" | save "$folder/base.json"
	save "$folder/image.id" <<<"$id"
}
