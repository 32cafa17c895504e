"""Data: the paper's mixtures, census and Stack Exchange questions, central data sets, and tables on disk."""
