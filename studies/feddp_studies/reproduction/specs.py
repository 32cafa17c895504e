"""Every figure and table of the paper's evaluation, one readable spec each."""

from dataclasses import replace

from feddp_studies.datasets.stack_overflow import SETS
from feddp_studies.reproduction.peers import EPSILONS
from feddp_studies.reproduction.spec import Config, Experiment, Shares

POINT_SHARES: Shares = (0.2, 0.2, 0.45, 0.15)
CLIENT_SHARES: Shares = (0.35, 0.1, 0.45, 0.1)
MORE_SUBSPACE: Shares = (0.45, 0.15, 0.30, 0.10)
MORE_SUMS: Shares = (0.1, 0.15, 0.6, 0.15)
MORE_WEIGHTS: Shares = (0.2, 0.35, 0.3, 0.15)

RIVALS = [
    Config("k-fed"),
    Config("oracle-floor"),
    *(Config(start, steps) for start in ("server-kmeans++", "server-lloyds", "sphere-packing") for steps in (1, 2, 3)),
    Config("dp-lloyd", 7),
]
LIBRARIES = [Config("google-lsh"), Config("diffprivlib")]
FEW_RIVALS = [
    Config("k-fed"),
    Config("oracle-floor"),
    *(Config(start, 1) for start in ("server-kmeans++", "server-lloyds", "sphere-packing")),
]


def _paper(rule: Shares, *others: Shares) -> list[Config]:
    """Return method "paper" with the rule of thumb and 0, 1 or 2 Lloyd steps, and with other shares and none."""
    return [Config("paper", steps, rule) for steps in (0, 1, 2)] + [Config("paper", 0, shares) for shares in others]


PUBLISHED = [Config("published-noise", 0, POINT_SHARES)]
POINT = [Config("refined"), *_paper(POINT_SHARES, MORE_SUBSPACE, MORE_SUMS, MORE_WEIGHTS), *PUBLISHED, *RIVALS]
CLIENT = [Config("refined"), *_paper(CLIENT_SHARES, POINT_SHARES, MORE_SUBSPACE), *FEW_RIVALS, Config("server-lloyds", 3)]
CENSUS = [Config("refined"), *_paper(POINT_SHARES, MORE_SUBSPACE), *FEW_RIVALS]
QUICK = [Config("refined"), Config("paper", 0, POINT_SHARES), *PUBLISHED, *FEW_RIVALS]
QUICK_CLIENT = [Config("refined"), Config("paper", 0, CLIENT_SHARES), *FEW_RIVALS]

MIXTURE_POINT = Experiment(
    name="mixture-point",
    title="Gaussian mixture, 100 clients, every point protected",
    paper="Figure 1, left",
    problems=["mixture"],
    configs=[*POINT, *LIBRARIES],
    epsilons=[0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 2.0],
    seeds=5,
    quick_configs=QUICK,
    quick_epsilons=[0.1, 0.4, 1.2],
)


def _census(employment: int, title: str, paper: str) -> Experiment:
    return Experiment(
        name=f"census-{employment}",
        title=f"US census, {title}, every point protected",
        paper=paper,
        problems=[f"census-{employment}"],
        configs=CENSUS,
        epsilons=[0.2, 0.5, 2.0],
        seeds=2,
        quick_configs=QUICK[:2] + FEW_RIVALS,
        quick_epsilons=[0.5, 2.0],
    )


def _clients(n_clients: int, paper: str) -> Experiment:
    return Experiment(
        name=f"mixture-{n_clients}",
        title=f"Gaussian mixture, {n_clients:,} clients, every client protected",
        paper=paper,
        problems=[f"clients-{n_clients}"],
        configs=CLIENT,
        epsilons=[0.3, 0.6, 1.24, 2.5, 5.0],
        seeds=3,
        quick_configs=QUICK_CLIENT,
        quick_epsilons=[0.6, 2.5],
    )


def _questions(site: str, topics: str, paper: str, what: str = "Stack Exchange questions") -> Experiment:
    return Experiment(
        name=site,
        title=f"{what} on {topics}, every user protected",
        paper=paper,
        problems=[site],
        configs=CLIENT,
        epsilons=[0.5, 1.24, 2.6, 5.0, 8.0],
        seeds=3,
        quick_configs=QUICK_CLIENT,
        quick_epsilons=[1.24, 8.0],
    )


def _missing(count: int, paper: str) -> Experiment:
    return replace(
        MIXTURE_POINT,
        name=f"missing-{count}",
        title=f"Gaussian mixture, the server lacks {count} of 10 clusters",
        paper=paper,
        problems=[f"missing-{count}"],
        configs=[Config("refined"), *_paper(POINT_SHARES, MORE_SUBSPACE), *PUBLISHED, *FEW_RIVALS, Config("server-lloyds", 3)],
        epsilons=[0.2, 0.4, 0.8, 1.2, 2.0],
        quick_epsilons=[0.4, 1.2],
        seeds=3,
    )


EXPERIMENTS = {
    made.name: made
    for made in (
        MIXTURE_POINT,
        _census(5, "federal employees", "Figure 1, right"),
        _census(2, "not-for-profit employees", "figure in the appendix"),
        _census(6, "self-employed", "figure in the appendix"),
        _clients(1000, "figure in the appendix"),
        _clients(2000, "Figure 2, left"),
        _clients(5000, "figure in the appendix"),
        _questions("stackoverflow", "c# and java", "like Figure 2, right, with other topics"),
        _questions("travel", "visas and air travel", "like Figure 2, right, on another site"),
        *(_questions(name, " and ".join(made.topics), made.paper, f"Stack Overflow {made.reading}") for name, made in SETS.items()),
        _missing(1, "figure in the appendix"),
        _missing(2, "figure in the appendix"),
        _missing(5, "figure in the appendix"),
        replace(
            MIXTURE_POINT,
            name="missing-ours",
            title="Gaussian mixture, the server lacks 0, 1, 2 or 5 of 10 clusters: FedDP-KMeans alone",
            paper="figure in the appendix",
            kind="missing",
            problems=["mixture", "missing-1", "missing-2", "missing-5"],
            configs=[Config("refined"), *_paper(POINT_SHARES, MORE_SUBSPACE)],
            quick_configs=[Config("refined"), Config("paper", 0, POINT_SHARES)],
            epsilons=[0.2, 0.4, 0.8, 1.2, 2.0],
            quick_epsilons=[0.4, 1.2],
            seeds=3,
        ),
        Experiment(
            name="peers-central",
            title="Without server data, against other private k-means programs on their own central data sets",
            paper="beyond the paper",
            kind="peers",
            problems=["gas", "letter", "digits", "s1"],
            configs=[Config("refined"), Config("dp-lloyd", 7), *LIBRARIES],
            epsilons=EPSILONS,
            quick_epsilons=[0.5, 2.0],
            seeds=10,
        ),
        Experiment(
            name="elbow",
            title="Choosing k: cost of the weighted server points, k' = 20, true k = 10",
            paper="figure in the appendix",
            problems=["mixture", "mixture-clean"],  # The second: server data without the hundred uniform points.
            configs=[Config("elbow of paper"), Config("elbow of refined")],
            epsilons=[1.0],
            seeds=5,
            kind="elbow",
            cluster_numbers=range(1, 21),
        ),
        Experiment(
            name="assumptions",
            title="Radius of each data set, and the theorem's assumptions",
            paper="table in the appendix",
            problems=["mixture", "census-2", "census-5", "census-6"],
            configs=[Config("assumptions")],
            epsilons=[1.0],
            seeds=1,
            kind="assumptions",
        ),
    )
}
"""The experiments by name, in the paper's order. The tables of budget shares and Lloyd steps are read off the same runs."""
