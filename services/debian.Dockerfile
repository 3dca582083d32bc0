# One image for each service: a framework's app on its server, on a Debian base.
#
# Build context: services/. PYTHON_IMAGE is a mirror of the official images (python, pypy), with Python in /usr/local, or a local
# base with the same tags, with Debian's Python. Layers are ordered from what most services share to what changes most often.
#
# Other targets, with additional build contexts:
#   with-wheel  another version of a package (--package) on top of the image, from the wheel in `package-wheel`
#   own-app     a user's own app (scripts/matrix.sh --app) on top of the image of a server with a bare app, from its locked
#               requirements in `app-locks` and its folder in `app-source`
#   app-lock    the lock of an app's requirements in `app-requirements`
#
# Debian's package versions are not pinned beyond the base's release (DL3008), and the shell is bash, which hadolint takes for
# sh (SC3054, SC3060).
# hadolint global ignore=DL3008,SC3054,SC3060
ARG PYTHON_IMAGE=python
ARG PYTHON=3.13

# Placeholders for the additional build contexts.
FROM scratch AS app-source
FROM scratch AS app-locks
FROM scratch AS app-requirements
FROM scratch AS package-wheel

FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS service

SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PORT=8080 \
    WORKERS=1 \
    BACKLOG=2048
WORKDIR /app
RUN python3 -m venv /opt/venv

# Drivers, then framework, then server: each lock is complete and consistent with those before it. If possible, a layer mounts
# only its own lock, so that a change in another lock does not invalidate it.
ARG LOCKS=py313
ARG STYLE
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip \
    --mount=type=bind,source=locks/${LOCKS}/common-${STYLE}.txt,target=/lock.txt \
    --mount=type=cache,id=bench-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=bench-apt-lists,target=/var/lib/apt/lists,sharing=locked <<'DRIVERS'
locked=(pip install --quiet --no-deps --require-hashes --requirement /lock.txt)
if [[ $LOCKS-$STYLE != pypy*-sync ]]; then
    "${locked[@]}"
    exit
fi
# On PyPy, psycopg2cffi serves as psycopg2 (its README, "Installation"); it has no wheels.
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install --yes --no-install-recommends libpq5
build=(gcc libc6-dev libpq-dev)
python3 -c 'import sys, sysconfig, pathlib
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' || build+=(pypy3-dev)
apt-get -qq install --yes --no-install-recommends "${build[@]}"
"${locked[@]}"
apt-get -qq purge --yes --autoremove "${build[@]}"
rm -rf /var/log/apt /var/log/dpkg.log
site=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo 'import psycopg2cffi.compat; psycopg2cffi.compat.register()' >"$site/psycopg2.pth"
DRIVERS

ARG FRAMEWORK
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip \
    --mount=type=bind,source=locks/${LOCKS}/framework-${FRAMEWORK}.txt,target=/lock.txt \
    pip install --quiet --no-deps --require-hashes --requirement /lock.txt

# The compiler for a server without a wheel is installed and removed in one layer, together with Python's headers, which
# official images have and Debian's Python does not.
ARG SERVER
ARG PYTHON
ARG PACKAGE=""
ARG BUILD_PACKAGES=""
ARG RUN_PACKAGES=""
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip --mount=type=bind,source=locks/${LOCKS},target=/locks \
    --mount=type=cache,id=bench-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=bench-apt-lists,target=/var/lib/apt/lists,sharing=locked <<'INSTALL'
if [[ ! -f /locks/server-$SERVER.txt ]]; then
    echo "ERROR: there is no server '$SERVER': set WORKER_CLASS in .env to sync or gevent" >&2
    exit 2
fi
read -ra build <<<"$BUILD_PACKAGES"
read -ra run <<<"$RUN_PACKAGES"
if ((${#build[@]})) && ! python3 -c 'import sys, sysconfig, pathlib
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())'; then
    if [[ $LOCKS == pypy* ]]; then build+=(pypy3-dev); else build+=("python$PYTHON-dev"); fi
fi
if ((${#build[@]} + ${#run[@]})); then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    # Separately, so that a runtime library is marked as installed by itself and not as a -dev package's dependency.
    for packages in run build; do
        declare -n names=$packages
        apt-get -qq install --yes --no-install-recommends "${names[@]}"
    done
fi

install=(pip install --quiet)
locked=("${install[@]}" --no-deps --require-hashes --requirement)
"${locked[@]}" "/locks/server-$SERVER.txt"
package=/locks/package-$PACKAGE.txt
if [[ -f $package ]]; then
    "${locked[@]}" "$package"
elif [[ -n $PACKAGE ]]; then
    "${install[@]}" "$PACKAGE"
fi
pip check
pip freeze >/app/packages.txt

if ((${#build[@]})); then
    apt-get -qq purge --yes --autoremove "${build[@]}"
fi
rm -rf /var/log/apt /var/log/dpkg.log
INSTALL

COPY common common/
COPY frameworks/${FRAMEWORK} ./
# Not COPY: for a missing server it reports a checksum, before the check above can name WORKER_CLASS.
RUN --mount=type=bind,source=servers,target=/servers cp -r "/servers/$SERVER" server && python3 -m compileall -q /app

# At run time the root is read-only, and the user has no home directory.
ENV FRAMEWORK=${FRAMEWORK} SERVER=${SERVER} HOME=/tmp
USER 65534:65534
# scripts/clean.sh recognises this project's images by it.
LABEL bench.image=service
CMD ["/app/server/start"]

# The app's folder, as one layer that all servers of a Python share. File times are fixed, so that the layer is identical even if
# BuildKit makes it several times for parallel builds. Files become readable for all, because the app runs as another user.
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS app-folder
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN --mount=type=bind,from=app-source,target=/from \
    mkdir -p /srv/app \
 && tar -C /from --exclude-vcs --exclude=__pycache__ --exclude=.venv --exclude=node_modules -cf - . | tar -C /srv/app -xf - \
 && chmod -R u+rwX,go+rX /srv/app \
 && (python3 -m compileall -q --invalidation-mode unchecked-hash /srv/app || true) \
 && mkdir /layer \
 && mv /srv /layer \
 && find /layer -exec touch --no-dereference --date=1980-01-02 {} +

# In this stage and those below, code of others runs (setup.py), so they get no cache that other images install from.
FROM service AS own-app
USER 0:0
RUN --mount=type=bind,from=app-locks,target=/locks <<'REQUIREMENTS'
pip install --quiet --no-cache-dir --no-deps --require-hashes --requirement /locks/requirements.txt
pip check
pip freeze >/app/packages.txt
REQUIREMENTS

COPY own/app.py ./
# Copied to /, because a folder that COPY itself creates (/srv) would get the current time.
COPY --link --from=app-folder /layer /
USER 65534:65534

# A package's wheel instead of the version that the locks pin. Additional dependencies come from the package index.
FROM service AS with-wheel
USER 0:0
RUN --mount=type=bind,from=package-wheel,target=/wheel <<'WHEEL'
file=(/wheel/*.whl)
IFS=- read -r name version _ <<<"${file[0]##*/}"
install=(pip install --quiet --find-links /wheel)
"${install[@]}" --no-index --no-deps --force-reinstall "$name==$version"
if ! pip check; then
    "${install[@]}" "$name==$version"
    pip check
fi
pip freeze >/app/packages.txt
WHEEL

USER 65534:65534

# The lock of an app's requirements.in or pyproject.toml, for driver/planning/own_app.py.
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS resolved
ARG UV
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet "$UV"
ARG PYTHON
WORKDIR /requirements
RUN --mount=type=bind,from=app-requirements,target=/requirements \
    UV_NO_CONFIG=1 UV_NO_SOURCES=1 UV_NO_CACHE=1 /opt/uv/bin/uv pip compile --quiet --no-progress --color never --generate-hashes --no-header --no-annotate \
    --no-python-downloads --output-file /requirements.txt ./*
FROM scratch AS app-lock
COPY --from=resolved /requirements.txt /

# The default target: a service of the matrix.
FROM service
