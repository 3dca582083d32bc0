"""The browser in the tests' image, which has no user interface, and its arguments: no sandbox, no GPU."""

CHROMIUM = "/usr/bin/chromium-headless-shell"
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage", "--disable-gpu")
