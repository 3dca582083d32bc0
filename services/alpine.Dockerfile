# One image for each service: a framework's app on its server, on an Alpine base.
#
# Build context: services/. The same build arguments and layers as debian.Dockerfile, for musl. Everything is installed from
# wheels, except the packages in locks/pyXYZ/musl.txt: they have no musl wheel and are built from source, with a compiler if
# BUILD_PACKAGES has one, else without their optional C parts.
ARG PYTHON_IMAGE=python
ARG PYTHON=3.13
FROM ${PYTHON_IMAGE}:${PYTHON}-alpine

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
# beyond the base's release (DL3018); PACKAGE is NAME==VERSION (DL3013).
ARG SERVER
ARG PACKAGE=""
ARG BUILD_PACKAGES=""
ARG RUN_PACKAGES=""
# hadolint ignore=DL3013,DL3018
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
if [ -f "/locks/package-$PACKAGE.txt" ]; then
    locked "package-$PACKAGE"
elif [ -n "$PACKAGE" ]; then
    pip install --quiet "$PACKAGE"
fi
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
