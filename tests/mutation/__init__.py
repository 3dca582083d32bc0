"""Mutation tests: break decisions of the code on purpose, to see whether the unit tests notice."""
