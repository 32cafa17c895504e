"""The paper's rivals: first centers that touch no client data, so that FedDP-Lloyds has the whole budget."""

from collections.abc import Callable

from feddp_kmeans._typing import FloatArray
from feddp_kmeans.algorithm.settings import InitName
from feddp_kmeans.baselines import server_kmeanspp, server_lloyds, sphere_packing
from feddp_kmeans.privacy.fixed_point import Ball

STARTS: dict[InitName, Callable[[FloatArray, Ball, int, int], FloatArray]] = {
    InitName.SERVER_KMEANS_PLUS_PLUS: server_kmeanspp.start,
    InitName.SERVER_LLOYDS: server_lloyds.start,
    InitName.SPHERE_PACKING: sphere_packing.start,
}
"""Start centers by the name of the initialization: from server points, the public ball, k and a seed."""
