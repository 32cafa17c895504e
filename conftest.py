"""Modules that need an extra which is not installed are not looked at for examples."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/feddp_kmeans/gpu/*"]
