"""The appendix: the algorithms behind the paper's theorems, and the theorems' assumptions as functions."""
