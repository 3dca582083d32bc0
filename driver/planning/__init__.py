"""What comes before a run: options, a user's own app, packages and two refs, until the plan is made."""
