# shellcheck shell=bash
# Base images: pulled by their locked digests, or built here from Debian if the registry cannot be reached. Only declares.

# shellcheck source=scripts/lib/install.sh
source "${BASH_SOURCE[0]%/*}/install.sh"

local_file=$root/services/.env base_lock=$root/services/locks/bases.tsv

# Whether this machine builds its own base images, because scripts/setup.sh could not reach the registry.
local_bases() { grep -q '^LOCAL_PYPY_IMAGE=' "$local_file" 2>/dev/null; }

# The default Python of services/matrix.toml, repeated here so that an error in that file does not break the setup; a test
# compares them.
setup_python=3.13

# shellcheck disable=SC2034 # lock.sh uses it
pip_audit=pip-audit==2.10.1

# setup_bases: prints the base images that every run needs: Debian, and the default Python. Those of other Pythons are
# fetched when a run needs them.
setup_bases() {
	if local_bases; then
		printf '%s\n' bench-debian:trixie-slim "bench-python:$setup_python-slim"
	else
		registry_bases
	fi
}

registry_bases() {
	local debian python
	debian=$(setting DEBIAN_IMAGE) || return
	python=$(setting PYTHON_IMAGE) || return
	printf '%s\n' "$debian" "$python:$setup_python-slim"
}

have_image() { "$docker" image inspect "$@" >/dev/null 2>&1; }

have_bases() {
	local list names
	list=$(setup_bases) || return
	mapfile -t names <<<"$list"
	have_image "${names[@]}"
}

# choose_bases: those of the registry, or local ones if it cannot be reached; asked again in each run. Fails if it refuses.
choose_bases() {
	local list names name why='' status=0
	list=$(registry_bases)
	mapfile -t names <<<"$list"
	for name in "${names[@]}"; do
		have_image "$name" && continue
		local_bases || say "getting base images"
		why=$(pull_base "$name") || status=$?
		break
	done
	if ((status == unreachable)); then
		if ! local_bases || ! have_bases; then choose_local_bases "$name: $why"; fi
	elif ((status)); then
		fail 2 "base image $name cannot be pulled: $why; PYTHON_IMAGE, PYPY_IMAGE and DEBIAN_IMAGE in .env can name a mirror"
	elif local_bases; then
		rm "$local_file"
	fi
}

# get_bases: gets the images of setup_bases that are not here.
get_bases() {
	local name names list
	list=$(setup_bases)
	mapfile -t names <<<"$list"
	for name in "${names[@]}"; do get_base "$name" & done
	for name in "${names[@]}"; do wait -n || fail 1 "a base image is missing; the lines above say why"; done
	name_other_bases "${names[@]}"
}

absent=3 unreachable=4

# get_base NAME: gets the image, unless it is here, from the registry or from Debian. False, with a line that says why, if that fails:
# status $absent if the registry does not have it.
get_base() {
	local why status=0
	have_image "$1" && return
	if [[ $1 == bench-* ]]; then
		make_listed_base "$1"
		return
	fi
	why=$(pull_base "$1") || status=$?
	((status == 0)) || warn "base image $1 cannot be pulled: its cells are skipped${why:+ ($why)}"
	return "$status"
}

# missing_bases NAME...: gets them in parallel; prints those that failed, and records those that the registry does not have.
missing_bases() {
	local name missing=() unknown=() pids=() index known status
	name_other_bases "$@"
	have_image "$@" && return
	for name; do
		get_base "$name" >&2 &
		pids+=($!)
	done
	for index in "${!pids[@]}"; do
		status=0
		wait "${pids[index]}" || status=$?
		((status == 0)) || missing+=("${@:index+1:1}")
		((status != absent)) || unknown+=("${@:index+1:1}")
	done
	((${#missing[@]} == 0)) || printf '%s\n' "${missing[@]}"
	((${#unknown[@]})) || return 0
	known=$(sed -n 's/^MISSING_BASES=\(.*\)/\1 /p' "$local_file" 2>/dev/null) || true
	{
		! local_bases || grep '^LOCAL_' "$local_file"
		printf '%s\n' '# Written by scripts: base images that the registry did not have.' \
			'# Delete this file to have them tried again.' "MISSING_BASES=$known${unknown[*]}"
	} | save "$local_file"
}

# choose_local_bases WHY: from here on, base images are built on this machine, under names of their own.
choose_local_bases() {
	local why
	why=$(no_local_bases)
	[[ ! $why ]] || fail 2 "$1, and $why"
	say "$1: building local Debian bases with mmdebstrap, for this run (not possible for Alpine: those cells will be skipped)"
	printf '%s\n' '# Written by scripts/setup.sh where the registry could not be reached: local names of the base images.' \
		'# Each run asks the registry again, and deletes this file if it answers.' \
		LOCAL_PYTHON_IMAGE=bench-python LOCAL_PYPY_IMAGE=bench-pypy LOCAL_DEBIAN_IMAGE=bench-debian:trixie-slim | save "$local_file"
}

# no_local_bases: prints why none can be built here; nothing if they can. Installs mmdebstrap only for scripts/setup.sh --setup.
no_local_bases() {
	if ! debian_family || ((EUID)); then
		echo "local bases can be built only by root on Debian and its derivatives: set PYTHON_IMAGE, PYPY_IMAGE and DEBIAN_IMAGE in .env to a mirror"
	elif ! command -v mmdebstrap >/dev/null; then
		if [[ ${may_install:-} ]]; then apt_install mmdebstrap; else echo "local bases need mmdebstrap: install it, or run scripts/setup.sh --setup"; fi
	fi
}

# make_listed_base NAME: builds Debian, or the Python that services/bases.tsv (by scripts/generate.sh) lists under that name.
make_listed_base() {
	local suite interpreter found why
	why=$(no_local_bases)
	[[ ! $why ]] || { warn "base image $1: $why" && return 1; }
	if [[ $1 == bench-debian:trixie-slim ]]; then
		make_base "$1" trixie
		return
	fi
	found=$(awk -v name="${1#bench-}" '$1 ":" $2 == name { print $3, $4 }' "$root/services/bases.tsv")
	read -r suite interpreter <<<"$found"
	make_base "$1" "$suite" "$interpreter" "$interpreter-venv"
}

print_version='import platform, sys
pypy = getattr(sys, "pypy_version_info", None)
print("PYPY_VERSION=%d.%d.%d" % pypy[:3] if pypy else "PYTHON_VERSION=" + platform.python_version())'

# make_base IMAGE SUITE [PACKAGE...]: builds a minimal Debian with the host's CA bundle, which private registries need.
make_base() {
	local image=$1 suite=$2 bundle=/etc/ssl/certs/host-bundle.crt ca made version=''
	local include=ca-certificates
	shift 2
	ca=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
	(($#)) && include+=$(printf ',%s' "$@")
	local arguments=(--quiet --variant=minbase "--include=$include"
		'--aptopt=Acquire::Languages "none"'
		'--dpkgopt=path-exclude=/usr/share/doc/*' '--dpkgopt=path-exclude=/usr/share/man/*' '--dpkgopt=path-exclude=/usr/share/locale/*'
		"--customize-hook=upload $ca $bundle")
	made="mmdebstrap, Debian $suite, minbase"
	if [[ $suite == forky || $suite == sid ]]; then
		# The signature is still verified; only the expiry date of the Release file is not.
		arguments+=('--aptopt=Acquire::Check-Valid-Until "false"')
		made+=", Release's Valid-Until not checked"
	fi
	# shellcheck disable=SC2016 # $1 is mmdebstrap's: the new root
	(($#)) && arguments+=("--customize-hook=ln -sf /usr/bin/$1 \"\$1/usr/local/bin/python3\"")
	# An import of nothing succeeds too, so the image gets its name only once it is whole.
	mmdebstrap "${arguments[@]}" "$suite" - | "$docker" import \
		-c "ENV SSL_CERT_FILE=$bundle PIP_CERT=$bundle REQUESTS_CA_BUNDLE=$bundle" \
		-c 'CMD ["/bin/sh"]' -c "LABEL bench.base.made=\"$made\" bench.base.suite=$suite" - "$image-unfinished" >/dev/null
	# Official images have the version in a variable, which some apps read.
	(($# == 0)) || version=$("$docker" run --rm --network none "$image-unfinished" python3 -c "$print_version")
	printf '%s\n' "FROM $image-unfinished" ${version:+"ENV $version"} | "$docker" build --quiet --tag "$image" - >/dev/null
	"$docker" image rm "$image-unfinished" >/dev/null
	say "made $image ($made)"
}

# named_bases: prints the names of all base images according to this machine's settings, Debian first.
named_bases() {
	local debian image tag prefix alpine
	debian=$(setting DEBIAN_IMAGE) || return
	alpine=$(setting ALPINE_PYTHON_IMAGE) || return
	printf '%s\n' "$debian"
	while read -r image tag _; do
		[[ $image != '#'* ]] || continue
		prefix=$(setting "${image^^}_IMAGE") || return
		[[ $tag != *-alpine || ! $alpine ]] || prefix=$alpine
		printf '%s:%s\n' "$prefix" "$tag"
	done <"$root/services/bases.tsv"
}

# lock_bases: asks the registry for the digest of each base image and writes them. Images without an answer (`not_given`) keep
# their old digest and get a warning.
lock_bases() {
	local names name digest lines=()
	names=$(named_bases)
	while read -r name; do
		[[ $name != *@* ]] || continue
		# buildx ignores a format that begins with {{.Manifest if the name resolves to a single platform's image.
		digest=$(timeout 60 "$docker" buildx imagetools inspect --format '{{with .Manifest}}{{.Digest}}{{end}}' "$name" 2>/dev/null) || digest=''
		if [[ ! $digest =~ ^sha256:[0-9a-f]{64}$ ]]; then
			not_given+=("$name")
			digest=$(locked_digest "$name")
		fi
		[[ ! $digest ]] || lines+=("$name"$'\t'"$digest")
	done <<<"$names"
	printf '%s\n' '# Written by scripts/lock.sh --bases: the digests by which base images are pulled.' "${lines[@]}" | save "$base_lock"
	for name in "${not_given[@]}"; do warn "no registry gives a digest of $name"; done
}
not_given=()

# locked_digest NAME: prints its locked digest, if there is one.
locked_digest() {
	local name digest
	[[ -e $base_lock ]] || return 0
	while read -r name digest; do
		[[ $name != "$1" ]] || printf '%s' "$digest"
	done <"$base_lock"
}

# pull_base NAME: pulls by the locked digest, if there is one, and tags the image with NAME. If that fails, prints the cause; status
# $absent if the registry does not have the image, $unreachable if it cannot be reached.
pull_base() {
	local digest why status=0
	digest=$(locked_digest "$1") || return
	why=$(timeout 300 "$docker" pull -q "$1${digest:+@$digest}" 2>&1 >/dev/null) || status=$?
	if ((status)); then
		((status != 124)) || why='no end within 5 minutes'
		why=${why##*$'\n'}
		status=1
		case ${why,,} in
		*toomanyrequests* | *'too many requests'* | *'rate limit'*) why="rate limit of the registry ($why)" ;;
		*denied* | *unauthorized* | *forbidden* | *'authentication required'*) why="the registry denies access ($why)" ;;
		*'manifest unknown'* | *'not found'* | *'does not exist'*) why="the registry does not have it ($why)" status=$absent ;;
		*docker.sock*) ;;
		*'no such host'* | *'connection re'* | *unreachable* | *'no route to host'* | *timeout* | *'waiting for connection'* | *misbehaving* | *'name resolution'*)
			why="the registry cannot be reached ($why)" status=$unreachable
			;;
		esac
		echo "$why"
		return "$status"
	fi
	[[ ! $digest ]] || "$docker" tag "$1@$digest" "$1"
}

# name_other_bases NAME...: warns about local images that differ from the locked ones.
name_other_bases() {
	local name digest had
	for name; do
		digest=$(locked_digest "$name")
		[[ $digest ]] || continue
		had=$("$docker" image inspect --format '{{.RepoDigests}}' "$name" 2>/dev/null) || continue
		[[ $had == *"@$digest"* ]] || warn "base image $name is not the one in services/locks/bases.tsv: to have that one pulled, docker image rm $name"
	done
}
