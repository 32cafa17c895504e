"""The data sets of the paper, and central ones of its rivals."""
