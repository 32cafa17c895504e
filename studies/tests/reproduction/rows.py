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
        "optimal_cost": optimal,
        "epsilon_spent": epsilon,
    } | more
