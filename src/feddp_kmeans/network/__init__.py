"""Federations of machines: the protocol, its two halves, the secure sum, and what runs them on Flower."""
