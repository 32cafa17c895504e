"""Audits of whole runs: the real code, on the worst neighbours, many times. What scores and rates mean is in ``privacy.audit``."""
