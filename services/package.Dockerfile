# Builds the wheels of one scripts/matrix.sh --package, for one Python.
#
# Build context (from driver/planning/packages.py): a folder with one of
#   releases   what to ask the package index for, one per line: a requirement, or NAME==last:COUNT
#   FILE       a wheel or an sdist
#   source/    a source tree; if there is a file `subfolder`, the part of the tree to build
# Result: a folder NUMBER-INDEX/ for each version, with the wheel, or with error.txt if there is none.
#
# Debian's package versions are not pinned beyond the base's release (DL3008), and the shell is bash, which hadolint takes for
# sh (SC3010, SC3054, SC3060).
# hadolint global ignore=DL3008,SC3010,SC3054,SC3060
ARG PYTHON_IMAGE=python
ARG PYTHON=3.13
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS wheels

SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# SOURCE_DATE_EPOCH: repeated builds should give the same wheel.
ENV PATH=/opt/venv/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_INPUT=1 \
    PIP_ROOT_USER_ACTION=ignore \
    SOURCE_DATE_EPOCH=1577836800
ARG PYTHON
ARG BUILD_PACKAGES=""
RUN --mount=type=cache,id=bench-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=bench-apt-lists,target=/var/lib/apt/lists,sharing=locked <<'TOOLS'
read -ra build <<<"$BUILD_PACKAGES"
build+=(gcc g++ git libc6-dev make)
if ! python3 -c 'import sys, sysconfig, pathlib
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())'; then
    if python3 -VV | grep -q PyPy; then build+=(pypy3-dev); else build+=("python$PYTHON-dev"); fi
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install --yes --no-install-recommends "${build[@]}"
rm -rf /var/log/apt /var/log/dpkg.log
git config --system --add safe.directory '*'
python3 -m venv /opt/venv
TOOLS

# A new value asks the package index again, whose content changes with time. Foreign code runs here (setup.py), so it gets no
# cache that other images install from.
ARG ASKED_AT
ARG NUMBER
RUN --mount=type=bind,target=/item <<'WHEELS'
echo "asked at $ASKED_AT" >/asked

# wheel FOLDER WHAT: make the wheel of WHAT; fails if there is none, with pip's output in error.txt.
wheel() {
    mkdir -p "/out/$1"
    pip wheel --quiet --no-deps --wheel-dir "/out/$1" "$2" >"/out/$1/error.txt" 2>&1 && rm "/out/$1/error.txt" && return
    rm -f "/out/$1/"*.whl
    return 1
}

# newest NUMBER FIRST NAME COUNT: the last COUNT releases, newest first; the oldest gets the lowest index.
newest() {
    local left made version below=''
    for ((left = $4; left > 0; left--)); do
        if ! wheel "$1-$(($2 + left))" "$3$below"; then
            # There may be fewer releases than COUNT.
            echo "$3==last:$4" >"/out/$1-$(($2 + left))/requirement"
            ((left == $4)) || rm -r "/out/$1-$(($2 + left))"
            return 0
        fi
        made=("/out/$1-$(($2 + left))/"*.whl)
        version=${made[0]##*/} version=${version#*-}
        below="<${version%%-*}"
    done
}

# source_wheel FOLDER ITEM: from a copy, because builds write into their source; with Rust if there is a Cargo.toml.
source_wheel() {
    local subfolder=''
    [[ ! -s $2/subfolder ]] || subfolder=/$(<"$2/subfolder")
    cp -r "$2/source" "/tmp/source-$1"
    if [[ -e /tmp/source-$1$subfolder/Cargo.toml ]] && ! command -v cargo >/dev/null; then
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends cargo
    fi
    wheel "$1" "/tmp/source-$1$subfolder" || true
}

mkdir /out
if [[ -e /item/releases ]]; then
    index=0
    while read -r requirement; do
        if [[ $requirement == *==last:* ]]; then
            newest "$NUMBER" "$index" "${requirement%%==*}" "${requirement##*:}"
            index=$((index + ${requirement##*:}))
        else
            index=$((index + 1))
            wheel "$NUMBER-$index" "$requirement" || echo "$requirement" >"/out/$NUMBER-$index/requirement"
        fi
    done </item/releases
elif [[ -d /item/source ]]; then
    source_wheel "$NUMBER-1" /item
else
    wheel "$NUMBER-1" "$(find /item -name '*.whl' -o -name '*.tar.*' -o -name '*.tgz' -o -name '*.zip')" || true
fi
WHEELS

FROM scratch
COPY --from=wheels /out /
