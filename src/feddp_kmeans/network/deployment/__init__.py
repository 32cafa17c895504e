"""Federations between machines: keys, processes, and the two commands that hospitals and their server run."""
