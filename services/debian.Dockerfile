# One image for each service: a framework's app on its server, on a Debian base.
#
# Build context: services/. PYTHON_IMAGE is a mirror of the official images (python, pypy), with Python in /usr/local, or a local
# base with the same tags, with Debian's Python. Layers are ordered from what most services share to what changes most often.
#
# Other targets, with additional build contexts:
#   with-package  other versions of packages (--package, --with) on top of the image, from their wheels in `package-wheels`
#   own-app     a user's own app (scripts/matrix.sh --app) on top of the image of a server without our drivers and framework
#               (SERVER_BASE=bare), from its locked requirements in `app-locks` and its folder in `app-source`; with APP_BASE=bare,
#               without a server
#   app-lock    the lock of an app's requirements in `app-requirements`, with what packages in its folder require
#   app-wheels  these packages, those that `app-locks` lists
#
# Debian's package versions are not pinned beyond the base's release (DL3008), and the shell is bash, which hadolint takes for
# sh (SC3014, SC3054, SC3060).
# hadolint global ignore=DL3008,SC3014,SC3054,SC3060
ARG PYTHON_IMAGE=python
ARG PYTHON=3.13
ARG SERVER_BASE=framework
ARG APP_BASE=service

# Placeholders for the additional build contexts.
FROM scratch AS app-source
FROM scratch AS app-locks
FROM scratch AS app-requirements
FROM scratch AS package-wheels

# The Debian package with Python's headers, which Debian's Python lacks; nothing for official images, which have them.
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS headers
RUN python3 -c 'import os, sys, sysconfig; \
name = "pypy3" if sys.implementation.name == "pypy" else "python%d.%d" % sys.version_info[:2]; \
print(end="" if os.path.exists(sysconfig.get_path("include") + "/Python.h") else name + "-dev")' >/python-headers

FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS bare

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

FROM bare AS framework

# Drivers, then framework, then server: each lock is complete and consistent with those before it. If possible, a layer mounts
# only its own lock, so that a change in another lock does not invalidate it.
ARG LOCKS=py313
ARG STYLE
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip \
    --mount=type=bind,source=locks/${LOCKS}/common-${STYLE}.txt,target=/lock.txt \
    --mount=type=bind,from=headers,source=/python-headers,target=/python-headers \
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
read -ra build <<<"gcc libc6-dev libpq-dev $(</python-headers)"
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

FROM ${SERVER_BASE} AS service
WORKDIR /app

# The compiler for a server without a wheel is installed and removed in one layer, together with Python's headers.
ARG LOCKS=py313
ARG SERVER
ARG PACKAGE=""
ARG BUILD_PACKAGES=""
ARG RUN_PACKAGES=""
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip --mount=type=bind,source=locks/${LOCKS},target=/locks \
    --mount=type=bind,from=headers,source=/python-headers,target=/python-headers \
    --mount=type=cache,id=bench-apt,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,id=bench-apt-lists,target=/var/lib/apt/lists,sharing=locked <<'INSTALL'
if [[ ! -f /locks/server-$SERVER.txt ]]; then
    echo "ERROR: there is no server '$SERVER': set WORKER_CLASS in .env to sync or gevent" >&2
    exit 2
fi
read -ra build <<<"$BUILD_PACKAGES${BUILD_PACKAGES:+ $(</python-headers)}"
read -ra run <<<"$RUN_PACKAGES"
if ((${#build[@]} + ${#run[@]})); then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    # Separately, so that a runtime library is marked as installed by itself and not as a -dev package's dependency.
    for packages in run build; do
        declare -n names=$packages
        apt-get -qq install --yes --no-install-recommends "${names[@]}"
    done
fi

locked=(pip install --quiet --no-deps --require-hashes --requirement)
"${locked[@]}" "/locks/server-$SERVER.txt"
[[ -z $PACKAGE ]] || "${locked[@]}" "/locks/package-$PACKAGE.txt"
pip check
pip freeze >/app/packages.txt

if ((${#build[@]})); then
    apt-get -qq purge --yes --autoremove "${build[@]}"
fi
rm -rf /var/log/apt /var/log/dpkg.log
INSTALL

ARG FRAMEWORK
COPY common common/
COPY frameworks/${FRAMEWORK} ./
# Not COPY: for a missing server it reports a checksum, before the check above can name WORKER_CLASS.
# With __init__.py, it comes before an installed module of its name.
RUN --mount=type=bind,source=servers,target=/servers \
    cp -r "/servers/$SERVER" server && touch server/__init__.py && python3 -m compileall -q /app

# At run time the root is read-only, and the user has no home directory.
ENV FRAMEWORK=${FRAMEWORK} SERVER=${SERVER} HOME=/tmp
USER 65534:65534
# scripts/clean.sh recognises this project's images by it.
LABEL bench.image=service
CMD ["/app/server/start"]

# The packages of the app's folder that projects.txt lists, as wheels: lines of place, `needed` or `wanted`, hash and extras.
# One that is only wanted may fail: failed.txt says why. A folder without its repository has no version to take from that.
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS app-wheels
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
ENV PATH=/opt/venv/bin:$PATH \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    SOURCE_DATE_EPOCH=1577836800 \
    PBR_VERSION=0.0.0 \
    PDM_BUILD_SCM_VERSION=0.0.0 \
    POETRY_DYNAMIC_VERSIONING_BYPASS=0.0.0 \
    SETUPTOOLS_SCM_PRETEND_VERSION=0.0.0 \
    UV_DYNAMIC_VERSIONING_BYPASS=0.0.0 \
    VCS_VERSIONING_PRETEND_VERSION=0.0.0
WORKDIR /source
ARG APT=""
RUN --mount=type=bind,source=own/install-packages,target=/install-packages \
    --mount=type=bind,from=headers,source=/python-headers,target=/python-headers \
    bash /install-packages
RUN --mount=type=bind,from=app-locks,source=projects.txt,target=/projects.txt \
    --mount=type=bind,source=own/in_place.py,target=/in_place.py \
    --mount=type=bind,from=app-source,target=/from <<'WHEELS'
mkdir -p /wheels/own
touch /wheels/requirements.in /wheels/options /wheels/failed.txt /wheels/roots.txt
[[ -s /projects.txt ]] || exit 0
python3 -m venv /opt/venv
# From a copy, because builds write into their source.
tar -C /from --exclude-vcs --exclude=__pycache__ --exclude=.venv --exclude=node_modules -cf - . | tar -xf -
while IFS=$'\t' read -r place need _ extras; do
    if ! pip wheel --quiet --no-cache-dir --no-deps --wheel-dir /made "./$place" </dev/null >/failed.txt 2>&1; then
        [[ $need == wanted ]] || { cat /failed.txt && exit 1; }
        mv /failed.txt /wheels/
        continue
    fi
    if [[ $place == . ]]; then kept=/wheels/own; else kept=/wheels; fi
    made=(/made/*.whl)
    mv "${made[0]}" "$kept"
    file=${made[0]##*/}
    echo "--no-emit-package=${file%%-*}" >>/wheels/options
    [[ $need == wanted ]] || echo "${file%%-*}$extras @ file://$kept/$file" >>/wheels/requirements.in
done </projects.txt
python3 /in_place.py roots /wheels/own /from >/wheels/roots.txt
WHEELS

# The app's folder, as one layer that all servers of a Python share: own/fill-folder copies /srv/source to /srv/app, or links what a
# large one has. File times are fixed, so that the layer is identical even if BuildKit makes it several times for parallel builds. Files become
# readable for all, because the app runs as another user.
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS app-folder
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN --mount=type=bind,from=app-source,target=/from \
    --mount=type=bind,from=app-wheels,source=/wheels,target=/wheels \
    --mount=type=bind,source=own,target=/own \
    mkdir -p /srv/app \
 && tar -C /from --exclude-vcs --exclude=__pycache__ --exclude=.venv --exclude=node_modules -cf - . | tar -C /srv/app -xf - \
 && python3 /own/in_place.py complete /wheels/own /srv/app \
 && chmod -R u+rwX,go+rX /srv/app \
 && (python3 -m compileall -q --invalidation-mode unchecked-hash /srv/app || true) \
 && mkdir -p /layer/srv/app /layer/srv/changes \
 && chmod 777 /layer/srv/app \
 && mv /srv/app /layer/srv/source \
 && if find /layer/srv/source -type f -printf '%s\n' | awk '{ pages += int(($1 + 4095) / 4096) } END { exit pages <= 32768 }'; then \
        touch /layer/srv/large; \
    fi \
 && find /layer -exec touch --no-dereference --date=1980-01-02 {} +

# In this stage and those below, code of others runs (setup.py), so they get no cache that other images install from.
FROM ${APP_BASE} AS own-app
USER 0:0
WORKDIR /app
ARG APT=""
RUN --mount=type=bind,source=own/install-packages,target=/install-packages \
    --mount=type=bind,from=headers,source=/python-headers,target=/python-headers \
    bash /install-packages
RUN --mount=type=bind,from=app-locks,target=/locks \
    --mount=type=bind,from=app-wheels,source=/wheels,target=/wheels <<'REQUIREMENTS'
install=(pip install --no-cache-dir --no-deps --progress-bar off)
"${install[@]}" --require-hashes --requirement /locks/requirements.txt
pip check
shopt -s nullglob
for wheel in /wheels/*.whl /wheels/own/*.whl; do
    IFS=- read -r name version _ <<<"${wheel##*/}"
    "${install[@]}" --force-reinstall --no-index --find-links "${wheel%/*}" "$name==$version"
done
pip freeze >/app/packages.txt
site=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
while read -r package place; do
    rm -r "${site:?}/$package"
    echo "/srv/app/$place" >>"$site/own-app.pth"
done </wheels/roots.txt
REQUIREMENTS

COPY own/app.py own/changes own/fill-folder ./
# Copied to /, because a folder that COPY itself creates (/srv) would get the current time.
COPY --link --from=app-folder /layer /
USER 65534:65534
ENTRYPOINT ["/app/fill-folder"]
CMD ["/app/server/start"]

# The wheels of packages instead of the versions that the locks pin. Additional dependencies come from the package index.
FROM service AS with-package
USER 0:0
ARG CHANGED
ARG PYTHON_RELEASED
RUN --mount=type=bind,from=package-wheels,target=/wheel \
    --mount=type=bind,source=with_package.py,target=/with_package.py \
    --mount=type=bind,source=uv.txt,target=/uv.txt \
    python3 /with_package.py
USER 65534:65534

# The lock of an app's requirements, for driver/planning/own_app.py.
FROM ${PYTHON_IMAGE}:${PYTHON}-slim AS resolved
RUN --mount=type=cache,id=bench-pip,target=/root/.cache/pip --mount=type=bind,source=uv.txt,target=/uv.txt \
    python3 -m venv /opt/uv && /opt/uv/bin/pip install --quiet "$(cat /uv.txt)"
ARG APT=""
RUN --mount=type=bind,source=own/install-packages,target=/install-packages \
    --mount=type=bind,from=headers,source=/python-headers,target=/python-headers \
    bash /install-packages
ARG PYTHON
WORKDIR /requirements
RUN --mount=type=bind,from=app-requirements,target=/requirements \
    --mount=type=bind,from=app-wheels,source=/wheels,target=/wheels \
    UV_NO_CONFIG=1 UV_NO_SOURCES=1 UV_NO_CACHE=1 xargs --arg-file=/wheels/options \
    /opt/uv/bin/uv pip compile --quiet --no-progress --color never --generate-hashes --no-header --no-annotate \
    --no-python-downloads --output-file /requirements.txt requirements.in /wheels/requirements.in
FROM scratch AS app-lock
COPY --from=resolved /requirements.txt /
COPY --from=app-requirements /projects.txt /
COPY --from=app-wheels /wheels/failed.txt /

# The default target: a service of the matrix.
FROM service
