"""Modules that need an extra which is not installed are not looked at for examples."""

from importlib.util import find_spec

_NEEDED = {
    "src/feddp_kmeans/federation/torch_clients.py": "torch",
    "src/feddp_kmeans/silos/gpu/*": "torch",
    "src/feddp_kmeans/network/deployment/own_ray.py": "ray",
}

collect_ignore_glob = [modules for modules, package in _NEEDED.items() if not find_spec(package)]
