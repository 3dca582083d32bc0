"""Profiles: where CPU time goes, by function and by framework."""
