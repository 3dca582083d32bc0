"""Where containers run: this machine's Docker, several machines, or inside `docker-compose up bench`."""
