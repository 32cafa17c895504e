"""Made-up rows of runs."""


def row(method, epsilon, cost, *, seed=0, steps=0, shares=(), optimal=10.0, dataset="mixture", **more):
    return {
        "dataset": dataset,
        "method": method,
        "epsilon": epsilon,
        "cost": cost,
        "seed": seed,
        "lloyd_steps": steps,
        "shares": list(shares),
        "bounds": 1.0,
        "sampling_rate": 1.0,
        "optimal_cost": optimal,
        "epsilon_spent": epsilon,
    } | more


def curves(costs, epsilons=(1.0, 2.0), **more):
    """Rows of each method: its cost, or one for each budget."""
    found = []
    for method, own in costs.items():
        each = own if isinstance(own, tuple) else (own,) * len(epsilons)
        found += [row(method, epsilon, cost, **more) for epsilon, cost in zip(epsilons, each, strict=True)]
    return found
