"""What runs leave behind with Docker, and its removal."""
