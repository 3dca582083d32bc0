# One image for each service: a framework's app on its server, on an Alpine base.
#
# Build context: services/. The same build arguments and layers as debian.Dockerfile, for musl: what
# has no musllinux wheel is built from source, by a compiler if BUILD_PACKAGES brings one, else
# without its optional C parts.
ARG PYTHON_IMAGE=python
ARG PYTHON=3.13
FROM ${PYTHON_IMAGE}:${PYTHON}-alpine

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

# Drivers, then framework, then server: each lock is complete and agrees with those before it.
ARG PYTHON
ARG STYLE
RUN --mount=type=cache,target=/root/.cache/pip,id=pip-musl --mount=type=bind,source=locks,target=/locks \
    pip install --quiet --no-deps --require-hashes \
    --requirement "/locks/py$(echo "$PYTHON" | tr -d .)/common-$STYLE.txt"

ARG FRAMEWORK
RUN --mount=type=cache,target=/root/.cache/pip,id=pip-musl --mount=type=bind,source=locks,target=/locks \
    pip install --quiet --no-deps --require-hashes \
    --requirement "/locks/py$(echo "$PYTHON" | tr -d .)/framework-$FRAMEWORK.txt"

# A compiler, where a server has no wheel, comes and goes in one layer.
ARG SERVER
ARG PACKAGE=""
ARG BUILD_PACKAGES=""
ARG RUN_PACKAGES=""
RUN --mount=type=cache,target=/root/.cache/pip,id=pip-musl --mount=type=bind,source=locks,target=/locks <<'INSTALL'
set -eu
# Lists of names, to be split.
if [ -n "$RUN_PACKAGES" ]; then apk add --quiet --no-cache $RUN_PACKAGES; fi
if [ -n "$BUILD_PACKAGES" ]; then apk add --quiet --no-cache --virtual .build $BUILD_PACKAGES; fi

locks=/locks/py$(echo "$PYTHON" | tr -d .)
locked() { pip install --quiet --no-deps --require-hashes --requirement "$locks/$1.txt"; }
locked "server-$SERVER"
if [ -f "$locks/package-$PACKAGE.txt" ]; then
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
COPY servers/${SERVER} server/
RUN python3 -m compileall -q /app

# The root is read-only at run time, and the user has no home.
ENV FRAMEWORK=${FRAMEWORK} SERVER=${SERVER} HOME=/tmp
USER 65534:65534
CMD ["/app/server/start"]
