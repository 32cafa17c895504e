"""Federations of machines: the protocol, its client and server, the secure sum, and the parts that run them on Flower."""
