# One image for each service: a framework's app on its server, on an Alpine base.
#
# Build context: services/. The same build arguments, layers and target `with-package` as debian.Dockerfile, for musl. Everything is installed from
# wheels, except the packages in locks/pyXYZ/musl.txt: they have no musl wheel and are built from source, with a compiler if
# BUILD_PACKAGES has one, else without their optional C parts.
ARG PYTHON_IMAGE=python
ARG PYTHON=3.13
FROM scratch AS package-wheels

FROM ${PYTHON_IMAGE}:${PYTHON}-alpine AS service

SHELL ["/bin/ash", "-euo", "pipefail", "-c"]
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

# Drivers, then framework, then server: each lock is complete and consistent with those before it.
ARG LOCKS=py313
ARG STYLE
RUN --mount=type=cache,target=/root/.cache/pip,id=bench-pip-musl \
    --mount=type=bind,source=locks/${LOCKS}/musl.txt,target=/musl.txt \
    --mount=type=bind,source=locks/${LOCKS}/common-${STYLE}.txt,target=/lock.txt \
    pip install --quiet --no-deps --require-hashes --requirement /musl.txt --requirement /lock.txt

ARG FRAMEWORK
RUN --mount=type=cache,target=/root/.cache/pip,id=bench-pip-musl \
    --mount=type=bind,source=locks/${LOCKS}/musl.txt,target=/musl.txt \
    --mount=type=bind,source=locks/${LOCKS}/framework-${FRAMEWORK}.txt,target=/lock.txt \
    pip install --quiet --no-deps --require-hashes --requirement /musl.txt --requirement /lock.txt

# The compiler for a server without a wheel is installed and removed in one layer. Alpine's package versions are not pinned
# beyond the base's release (DL3018).
ARG SERVER
ARG PACKAGE=""
ARG BUILD_PACKAGES=""
ARG RUN_PACKAGES=""
# hadolint ignore=DL3018
RUN --mount=type=cache,target=/root/.cache/pip,id=bench-pip-musl --mount=type=bind,source=locks/${LOCKS},target=/locks <<'INSTALL'
if [ ! -f "/locks/server-$SERVER.txt" ]; then
    echo "ERROR: there is no server '$SERVER': set WORKER_CLASS in .env to sync or gevent" >&2
    exit 2
fi
# Lists of names: word splitting is intended.
# shellcheck disable=SC2086
if [ -n "$RUN_PACKAGES" ]; then apk add --quiet --no-cache $RUN_PACKAGES; fi
# shellcheck disable=SC2086
if [ -n "$BUILD_PACKAGES" ]; then apk add --quiet --no-cache --virtual .build $BUILD_PACKAGES; fi

locked() { pip install --quiet --no-deps --require-hashes --requirement "/locks/musl.txt" --requirement "/locks/$1.txt"; }
locked "server-$SERVER"
if [ -n "$PACKAGE" ]; then locked "package-$PACKAGE"; fi
pip check
pip freeze >/app/packages.txt

if [ -n "$BUILD_PACKAGES" ]; then apk del --quiet .build; fi
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

# A release without a wheel for musl is built from source. Code of others runs here, so there is no shared cache.
FROM service AS with-package
USER 0:0
ARG BUILD_PACKAGES=""
ARG CHANGED
ARG PYTHON_RELEASED
# hadolint ignore=DL3018
RUN --mount=type=bind,from=package-wheels,target=/wheel \
    --mount=type=bind,source=with_package.py,target=/with_package.py \
    --mount=type=bind,source=uv.txt,target=/uv.txt <<'CHANGE'
# shellcheck disable=SC2086
if [ -n "$BUILD_PACKAGES" ]; then apk add --quiet --no-cache --virtual .build $BUILD_PACKAGES; fi
python3 /with_package.py
if [ -n "$BUILD_PACKAGES" ]; then apk del --quiet .build; fi
CHANGE

USER 65534:65534

# The default target: a service of the matrix.
FROM service
