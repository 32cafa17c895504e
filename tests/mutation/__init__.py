"""Bugs planted one at a time in a copy of the source: for each of them some test must fail."""
