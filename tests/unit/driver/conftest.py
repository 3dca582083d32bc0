"""A docker that only pretends, and a run: for all tests of the driver."""

from docker_calls import docker, run

__all__ = ["docker", "run"]
