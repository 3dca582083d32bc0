"""gunicorn's settings, with the backlog restored: aiohttp's worker calls listen() again, by default with 128."""

from common.backlog import widen_when_listening as post_worker_init  # noqa: F401 (gunicorn calls it)
from common.gunicorn_settings import *  # noqa: F403 (gunicorn reads a module's names)
