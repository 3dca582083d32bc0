"""Settings common to all gunicorn workers, loaded by `gunicorn --config python:...`.

Names and meanings: gunicorn's documentation, "Settings".
"""

import os

bind = f"0.0.0.0:{os.environ['PORT']}"
workers = int(os.environ["WORKERS"])
backlog = int(os.environ["BACKLOG"])
# Recommended by the documentation for containers: a heartbeat file on disk can block a worker.
worker_tmp_dir = "/dev/shm"
# Nothing here uses gunicorn's control socket.
control_socket_disable = True
# The most that "Settings" names for servers without a proxy in front, and uvicorn's default. Services that are loaded
# in turns are not asked anything for up to 2 s, gunicorn's default.
keepalive = 5
