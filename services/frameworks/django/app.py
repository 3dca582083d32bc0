"""The contract as a Django application: what a server imports."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.settings"

app = get_wsgi_application()
