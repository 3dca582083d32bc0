"""gunicorn's settings, with the backlog restored: the ASGI worker calls listen() again, with asyncio's default, 100."""

from common.backlog import widen_when_listening as post_worker_init  # noqa: F401 (gunicorn calls it)
from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)
