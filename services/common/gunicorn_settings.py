"""What all gunicorn workers have in common and not every release knows as a flag: `gunicorn --config python:...`.

The rest is in the arguments of each start, so that a report can say the command. Per gunicorn's documentation
("Settings"), a heartbeat file on disk can block a worker in a container (--worker-tmp-dir), and 5 s (--keep-alive) are
the most that it names for servers without a proxy in front, and uvicorn's default: services that are loaded in turns
are not asked anything for up to 2 s, gunicorn's default.
"""

# Nothing here uses gunicorn's control socket.
control_socket_disable = True
