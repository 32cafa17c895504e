"""What other private k-means programs cost on central data sets, as measured once and written down: recorded, not run here.

Cost per point, delta = 1e-6 where a program has one; 5 to 10 seeds; every program was given the exact box of the data. Ports and chosen
settings are marked. A program that imports is run live next to these.
"""

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

RECORDED: dict[str, dict[str, tuple[float, ...]]] = {
    "gas": {
        "Google LSH": (0.1400, 0.1210, 0.1054, 0.0956, 0.0879, 0.0813, 0.0791),
        "FastLloyd": (0.1312, 0.1219, 0.1176, 0.1031, 0.0905, 0.0863, 0.0832),
        "Gaussian DPLloyd": (0.1356, 0.1257, 0.1185, 0.1165, 0.0954, 0.0916, 0.0871),
        "Google HST (port)": (0.4129, 0.2931, 0.2242, 0.1801, 0.1420, 0.1285, 0.1218),
        "diffprivlib, real epsilon": (0.2105, 0.1672, 0.1394, 0.1260, 0.1221, 0.1099, 0.0943),
    },
    "letter": {
        "Google LSH": (0.2943, 0.2494, 0.2455, 0.2350, 0.2229, 0.2165, 0.2127),
        "FastLloyd": (0.2822, 0.2556, 0.2460, 0.2406, 0.2382, 0.2132, 0.2091),
        "Google HST (port)": (0.5970, 0.5700, 0.5271, 0.5171, 0.5052, 0.4653, 0.4180),
        "diffprivlib, real epsilon": (0.4264, 0.3595, 0.3122, 0.2834, 0.2600, 0.2500, 0.2347),
    },
    "digits": {
        "Google LSH": (9.08, 7.16, 5.53, 4.50, 3.94, 3.68, 3.42),
        "FastLloyd": (5.96, 4.74, 4.50, 4.25, 3.93, 3.65, 3.50),
        "diffprivlib, real epsilon": (13.7, 13.3, 11.0, 7.18, 5.48, 4.88, 4.55),
    },
    "s1": {
        "EUGkM (port)": (0.00447, 0.00219, 0.00221, 0.00207, 0.00206, 0.00206, 0.00206),
        "FastLloyd": (0.01079, 0.00636, 0.00537, 0.00453, 0.00467, 0.00467, 0.00452),
        "Google HST (port)": (0.08931, 0.02983, 0.01333, 0.00523, 0.00552, 0.00487, 0.00491),
        "Google LSH": (0.05002, 0.02657, 0.02299, 0.01562, 0.01214, 0.00819, 0.00866),
    },
}
"""Cost per point by data set and program, at EPSILONS."""


def best_recorded(name: str, epsilon: float) -> float:
    """Return the lowest recorded cost on a data set at one budget."""
    index = EPSILONS.index(epsilon)
    return min(costs[index] for costs in RECORDED[name].values())
