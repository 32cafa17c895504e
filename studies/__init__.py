"""The second distribution, as its tests import each other from the root of the repository."""
