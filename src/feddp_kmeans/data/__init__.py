"""Data: the paper's mixtures, and tables on disk."""
