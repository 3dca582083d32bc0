"""Fixtures for all tests of the driver: a fake docker, and a run."""

from docker_calls import docker, run

__all__ = ["docker", "run"]
