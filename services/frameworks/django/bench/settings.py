"""The minimum that Django needs: no sessions, no users."""

from pathlib import Path

from common import contract, settings

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
        "ENGINE": "pooled",
        "HOST": _database.host,
        "PORT": _database.port,
        "NAME": _database.name,
        "USER": _database.user,
        # A connection returns to the pool at the end of its request.
        "CONN_MAX_AGE": 0,
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
