"""Federations: where the points live and where noise is added. No k-means here."""
