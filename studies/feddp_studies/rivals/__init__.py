"""The rivals, one file each, under the algorithm's own signature: ``cluster(federation, settings, server_points, seed=...)``.

Some are not private; their results say so. Those that need another library say which, if it is not installed.
"""

from feddp_kmeans.algorithm.clustering import Clusterer
from feddp_studies.rivals import (
    diffprivlib_kmeans,
    dp_lloyd,
    google_lsh,
    k_fed,
    optimal,
    oracle_floor,
    server_kmeanspp,
    server_lloyds,
    sphere_packing,
)

BASELINES: dict[str, Clusterer] = {
    module.NAME: module.cluster
    for module in (
        server_kmeanspp,
        server_lloyds,
        sphere_packing,
        dp_lloyd,
        k_fed,
        optimal,
        oracle_floor,
        google_lsh,
        diffprivlib_kmeans,
    )
}
"""Every rival by its name."""

LIBRARIES = {google_lsh.NAME: google_lsh.library, diffprivlib_kmeans.NAME: diffprivlib_kmeans.library}
"""Rivals that need a library of their own: each function returns it, or raises an error that says how to get it."""
