"""The browser of the tests' image, and how it starts without a sandbox, a GPU or a network."""

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage", "--disable-gpu")
