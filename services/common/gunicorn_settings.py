"""Settings that gunicorn's workers have in common, read by `gunicorn --config python:...`.

Names and meanings: gunicorn's documentation, "Settings".
"""

import os

bind = f"0.0.0.0:{os.environ['PORT']}"
workers = int(os.environ["WORKERS"])
backlog = int(os.environ["BACKLOG"])
# The documentation's advice for containers: a heartbeat file on a disk can block a worker.
worker_tmp_dir = "/dev/shm"
graceful_timeout = 1
# Nobody asks a running service anything by gunicorn's control socket.
control_socket_disable = True
