"""While a run goes on: which step comes next, how far it is, and which rate a search for a knee tries."""
