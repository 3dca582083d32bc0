"""Code that the apps share: the contract's limits and the data layers."""
