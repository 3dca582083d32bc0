"""A Docker swarm: its nodes and their roles, checks of them, its registry, and scripts/swarm.sh."""
