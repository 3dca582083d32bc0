"""The minimum that Django needs: no sessions, no users."""

from pathlib import Path

from common import contract, settings
from django.utils.functional import SimpleLazyObject

_database = settings.Database.from_environment()

DEBUG = False
# Nothing is signed here, but Django does not start without a key.
SECRET_KEY = "nothing is signed with it"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "bench.urls"
INSTALLED_APPS = ["bench"]
MIDDLEWARE = ["bench.middleware.content_length"]
USE_I18N = False
DATA_UPLOAD_MAX_MEMORY_SIZE = contract.ECHO_LIMIT

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _database.host,
        "PORT": _database.port,
        "NAME": _database.name,
        "USER": _database.user,
        # Read when needed: a service without a database needs no secret.
        "PASSWORD": SimpleLazyObject(settings.database_password),
        # A connection returns to the pool at the end of its request; a request waits while none is free.
        "CONN_MAX_AGE": 0,
        "OPTIONS": {"pool": {"min_size": settings.pool_size(), "max_size": settings.pool_size(), "timeout": 3600}},
    }
}

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
    }
]

# Log errors only: 404, 405 and bodies that are too large are the client's fault.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "loggers": {
        "django": {"handlers": ["stderr"], "level": "ERROR"},
        "django.security": {"level": "CRITICAL"},
    },
}
