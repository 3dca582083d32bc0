"""Settings of all gunicorn workers that not every release has as a flag: `gunicorn --config python:...`.

All others are arguments in each start, so that reports can show the command. Reasons for two of them, per gunicorn's
documentation ("Settings"):

--worker-tmp-dir  a heartbeat file on disk can block a worker in a container
--keep-alive      5 s is the most that it suggests for servers without a proxy in front, and uvicorn's default.
                  gunicorn's default of 2 s is too short: services loaded in turns get no requests for up to 2 s.
"""

# Nothing here uses gunicorn's control socket.
control_socket_disable = True
