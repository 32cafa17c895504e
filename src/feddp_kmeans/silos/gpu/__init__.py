"""The same statistics on a GPU, for a trusted aggregator and for simulations: ``pip install 'feddp-kmeans[torch]'``."""
