"""Federations between machines: keys, processes, and the work of ``feddp serve``, ``join`` and ``simulate``."""
