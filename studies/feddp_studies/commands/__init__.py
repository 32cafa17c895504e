"""The commands that the studies add to ``feddp``."""
