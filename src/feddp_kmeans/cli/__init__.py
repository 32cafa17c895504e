"""The command ``feddp``."""
