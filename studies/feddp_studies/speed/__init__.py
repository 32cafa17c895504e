"""How fast runs are on this machine."""
