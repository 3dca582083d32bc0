"""gunicorn's settings, with its backlog kept: the ASGI worker listens again with 100, asyncio's default."""

from common.backlog import widen_when_listening as post_worker_init  # noqa: F401 (gunicorn calls it)
from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)
