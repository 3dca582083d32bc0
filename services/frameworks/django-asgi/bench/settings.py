"""What Django needs to know, and no more: no sessions, no users."""

from pathlib import Path

from common import contract, settings
from django.utils.functional import SimpleLazyObject

_database = settings.Database.from_environment()

DEBUG = False
# Nothing here signs anything, but without a key Django does not start.
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
        # Read when it is needed: a service without a database needs none.
        "PASSWORD": SimpleLazyObject(settings.database_password),
        # A connection goes back to the pool when its request has ended; who finds none free waits for one
        # as long as it takes.
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

# Refusals (404, 405, a body that is too large) are the client's affair; errors are said.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "loggers": {
        "django": {"handlers": ["stderr"], "level": "ERROR"},
        "django.security": {"level": "CRITICAL"},
    },
}
