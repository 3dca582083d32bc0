"""A part of Hypercorn's configuration, for workers that end after MAX_REQUESTS requests."""

import os

max_requests_jitter = int(os.environ.get("MAX_REQUESTS_JITTER") or 0)
