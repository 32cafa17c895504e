"""How accurate private runs are, on many data sets, with an aim for each."""
