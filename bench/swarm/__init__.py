"""The nodes of a swarm: their roles, what keeps a run from being measured on them, and the stack that serves it."""
