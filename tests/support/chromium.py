"""The browser in the tests' image, and its arguments to start without sandbox, GPU and background network use."""

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage", "--disable-gpu")
