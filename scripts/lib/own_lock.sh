# shellcheck shell=bash
# The locks of a user's own app: resolved once for each Python, before its run is planned. Only declares.

# shellcheck source=scripts/lib/bases.sh
source "${BASH_SOURCE[0]%/*}/bases.sh"

# The folder that own_app.sh makes for the app.
own_folder=''

# lock_own_app LINES: `LABEL PYTHON` each; the resolver's words where it finds no solution.
lock_own_app() {
	local label python prefix log=$own_folder/lock.log
	while read -r label python; do
		mkdir -p "$own_folder/locks"
		if has_lock "$label"; then
			cp -r "$root/$again_folder/app/locks/$label" "$own_folder/locks/"
			continue
		fi
		prefix=$(own_prefix "$python")
		get_base "$prefix:${python#pypy}-slim" &
		wait $! || fail 2 "Python $python has no base image here: leave it out of --python"
		say "resolving what the app needs on Python $python"
		"$docker" buildx build --file "$root/services/debian.Dockerfile" --target app-lock --build-arg "PYTHON_IMAGE=$prefix" \
			--build-arg "PYTHON=${python#pypy}" --build-arg "UV=$uv" --build-context "app-requirements=$own_folder/requirements" \
			--output "type=local,dest=$own_folder/locks/$label" --progress plain "$root/services" >"$log" 2>&1 </dev/null ||
			fail 2 "the app's requirements cannot be resolved: $(resolver_words "$log")"
	done <<<"$1"
}

# has_lock LABEL: whether a run that is repeated (again.sh sets its folder) has the lock, of an app that asked for the same.
has_lock() {
	[[ ${again_folder:-} && -d $root/$again_folder/app/locks/$1 ]] &&
		diff --recursive --brief "$root/$again_folder/app/requirements" "$own_folder/requirements" >/dev/null 2>&1
}

# own_prefix PYTHON: the prefix of its base image's name.
own_prefix() {
	local variable=PYTHON prefix=''
	[[ $1 != pypy* ]] || variable=PYPY
	! local_bases || prefix=$(sed -n "s/^LOCAL_${variable}_IMAGE=//p" "$local_file")
	[[ $prefix ]] || prefix=$(setting "${variable}_IMAGE")
	printf '%s' "$prefix"
}

# resolver_words LOG: what uv says, in one line, without the frame of the build.
resolver_words() {
	sed -nE 's/^#[0-9]+ [0-9.]+ +//p' "$1" | grep -vE '^(ERROR|process|/bin|[0-9]+ \|)' | tr -s '\n ' ' ' | tail -c 600
}
