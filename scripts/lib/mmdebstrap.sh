# shellcheck shell=bash
# Base images made here from Debian, where no registry answers. Only declares.

# shellcheck source=scripts/lib/install.sh
source "${BASH_SOURCE[0]%/*}/install.sh"

local_file=$root/services/.env

# choose_local_bases: from here on, bases are made on this machine, under names of their own.
choose_local_bases() {
	if ! debian_family || ((EUID)); then fail 2 "$(no_local_bases)"; fi
	say "no registry answers: making local Debian bases with mmdebstrap (Alpine's cannot be made: those cells will be skipped)"
	printf '%s\n' '# Written by scripts/setup.sh where no registry answered: local names of the base images.' \
		'# Delete this file to have a registry tried again.' \
		LOCAL_PYTHON_IMAGE=bench-python LOCAL_PYPY_IMAGE=bench-pypy LOCAL_DEBIAN_IMAGE=bench-debian:trixie-slim | save "$local_file"
}

need_mmdebstrap() { command -v mmdebstrap >/dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends mmdebstrap >/dev/null; }; }

no_local_bases() {
	echo "no registry answers, and only root on a Debian-family host can make local bases:" \
		"set PYTHON_IMAGE, PYPY_IMAGE and DEBIAN_IMAGE in .env to a mirror"
}

# make_listed_base NAME: Debian, or the Python that services/bases.tsv (scripts/generate.sh writes it) has under that name.
make_listed_base() {
	local suite interpreter found
	if ! debian_family || ((EUID)); then
		warn "base image $1: $(no_local_bases)"
		return 1
	fi
	if [[ $1 == bench-debian:trixie-slim ]]; then
		make_base "$1" trixie
		return
	fi
	found=$(awk -v name="${1#bench-}" '$1 ":" $2 == name { print $3, $4 }' "$root/services/bases.tsv")
	read -r suite interpreter <<<"$found"
	make_base "$1" "$suite" "$interpreter" "$interpreter-venv"
}

# make_base IMAGE SUITE [PACKAGE...]: a minimal Debian with the host's CA bundle (private registries need it).
make_base() {
	local image=$1 suite=$2 bundle=/etc/ssl/certs/host-bundle.crt ca made
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
		# The signature still counts; only the date of the Release file is not checked.
		arguments+=('--aptopt=Acquire::Check-Valid-Until "false"')
		made+=", Release's Valid-Until not checked"
	fi
	# shellcheck disable=SC2016 # $1 is mmdebstrap's: the new root
	(($#)) && arguments+=("--customize-hook=ln -sf /usr/bin/$1 \"\$1/usr/local/bin/python3\"")
	mmdebstrap "${arguments[@]}" "$suite" - | "$docker" import \
		-c "ENV SSL_CERT_FILE=$bundle PIP_CERT=$bundle REQUESTS_CA_BUNDLE=$bundle" \
		-c 'CMD ["/bin/sh"]' -c "LABEL bench.base.made=\"$made\" bench.base.suite=$suite" - "$image" >/dev/null
	say "made $image ($made)"
}
