"""What happens on the host: containers are started, loaded, looked at and removed, by the `docker` command line.

Standard library alone, Python 3.9 or newer: this is what runs outside of containers. What needs more is in `bench`,
which runs in the tools' container; both speak through files of the run's folder (`driver/messages.py`).
"""
