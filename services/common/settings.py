"""The addresses of a service's database and upstream, and a worker's share of the connections."""

import os
from dataclasses import dataclass
from pathlib import Path


def pool_size() -> int:
    """Database connections of this worker: its share of the service's limit."""
    total = int(os.environ.get("DB_POOL_TOTAL", "16"))
    return max(1, total // int(os.environ.get("WORKERS", "1")))


def upstream_url() -> str:
    """Base URL of the external service, without a trailing slash."""
    return os.environ.get("UPSTREAM_URL", "http://upstream:8080").rstrip("/")


@dataclass(frozen=True)
class Database:
    """The address of PostgreSQL, and the user to connect as."""

    host: str
    port: int
    name: str
    user: str

    @classmethod
    def from_environment(cls) -> "Database":
        env = os.environ
        return cls(
            host=env.get("DATABASE_HOST", "postgres"),
            port=int(env.get("DATABASE_PORT", "5432")),
            name=env.get("DATABASE_NAME", "bench"),
            user=env.get("DATABASE_USER", "bench"),
        )


def database_password() -> str:
    """The secret file's only line, read when connecting: a service without a database needs no secret."""
    path = os.environ.get("DATABASE_PASSWORD_FILE", "/run/secrets/database_password")
    return Path(path).read_text(encoding="utf-8").strip()
