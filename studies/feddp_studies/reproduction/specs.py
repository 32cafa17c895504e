"""Every figure and table of the paper's evaluation, one readable spec each."""

from dataclasses import replace

from feddp_studies.datasets.stack_overflow import SETS
from feddp_studies.reproduction.methods import Config, Shares
from feddp_studies.reproduction.peers import EPSILONS
from feddp_studies.reproduction.spec import ASSUMPTIONS, ELBOW, Experiment

POINT_SHARES: Shares = (0.2, 0.2, 0.45, 0.15)
CLIENT_SHARES: Shares = (0.35, 0.1, 0.45, 0.1)
MORE_SUBSPACE: Shares = (0.45, 0.15, 0.30, 0.10)
MORE_SUMS: Shares = (0.1, 0.15, 0.6, 0.15)
MORE_WEIGHTS: Shares = (0.15, 0.45, 0.25, 0.15)
MORE_COUNTS: Shares = (0.2, 0.15, 0.25, 0.4)
OTHER_SHARES = (MORE_SUBSPACE, MORE_SUMS, MORE_WEIGHTS, MORE_COUNTS)
"""Each gives the largest part to another release: any of them could refute the paper's rules."""

STEPS = (0, 1, 2, 3, 5)
STARTS = ("server-kmeans++", "server-lloyds", "sphere-packing")
NOT_PRIVATE = [Config("k-fed"), Config("oracle-floor")]
LIBRARIES = [Config("google-lsh"), Config("diffprivlib")]
PUBLISHED = [Config("published-noise", 0, POINT_SHARES)]
ONE_STEP = [*NOT_PRIVATE, *(Config(start, 1) for start in STARTS)]


def _paper(rule: Shares, *others: Shares, bounds: tuple[float, ...] = ()) -> list[Config]:
    """Return method "paper" with the rule of thumb and up to 5 Lloyd steps, and without any with other shares, and other bounds B."""
    return [
        *(Config("paper", steps, rule) for steps in STEPS),
        *(Config("paper", 0, shares) for shares in others),
        *(Config("paper", 0, rule, times) for times in bounds),
    ]


def _starts(*steps: int) -> list[Config]:
    return [*NOT_PRIVATE, *(Config(start, count) for start in STARTS for count in steps)]


POINT = [Config("refined"), *_paper(POINT_SHARES, *OTHER_SHARES), *PUBLISHED, *_starts(1, 2, 3, 5), Config("dp-lloyd", 7)]
CENSUS = [Config("refined"), *_paper(POINT_SHARES, *OTHER_SHARES), *_starts(1, 3)]
CLIENT = [Config("refined"), *_paper(CLIENT_SHARES, POINT_SHARES, *OTHER_SHARES, bounds=(0.5, 2.0)), *_starts(1, 3)]
QUICK = [Config("refined"), Config("paper", 0, POINT_SHARES), *PUBLISHED, *ONE_STEP]
QUICK_CLIENT = [Config("refined"), Config("paper", 0, CLIENT_SHARES), *ONE_STEP]

MIXTURE_POINT = Experiment(
    name="mixture-point",
    title="Gaussian mixture, 100 clients, every point protected",
    paper="Figure 1, left",
    data_sets=["mixture"],
    configs=[*POINT, *LIBRARIES],
    epsilons=[0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 2.0],
    seeds=10,
    quick_configs=QUICK,
    quick_epsilons=[0.1, 0.4, 1.2],
)


def _census(employment: int, title: str, paper: str) -> Experiment:
    return Experiment(
        name=f"census-{employment}",
        title=f"US census, {title}, every point protected",
        paper=paper,
        data_sets=[f"census-{employment}"],
        configs=CENSUS,
        epsilons=[0.2, 0.5, 1.0, 2.0],
        seeds=5,
        quick_configs=[Config("refined"), Config("paper", 0, POINT_SHARES), *ONE_STEP],
        quick_epsilons=[0.5, 2.0],
    )


def _clients(n_clients: int, paper: str) -> Experiment:
    return Experiment(
        name=f"mixture-{n_clients}",
        title=f"Gaussian mixture, {n_clients:,} clients, every client protected",
        paper=paper,
        data_sets=[f"clients-{n_clients}"],
        configs=CLIENT,
        epsilons=[0.3, 0.6, 1.24, 2.5, 5.0],
        seeds=10,
        quick_configs=QUICK_CLIENT,
        quick_epsilons=[0.6, 2.5],
    )


def _questions(site: str, topics: str, paper: str, what: str = "Stack Exchange questions") -> Experiment:
    return Experiment(
        name=site,
        title=f"{what} on {topics}, every user protected",
        paper=paper,
        data_sets=[site],
        configs=CLIENT,
        epsilons=[0.5, 1.24, 2.6, 5.0, 8.0],
        seeds=5,
        quick_configs=QUICK_CLIENT,
        quick_epsilons=[1.24, 8.0],
    )


def _missing(count: int) -> Experiment:
    return replace(
        MIXTURE_POINT,
        name=f"missing-{count}",
        title=f"Gaussian mixture, the server lacks {count} of 10 clusters",
        paper="figure in the appendix",
        data_sets=[f"missing-{count}"],
        configs=[Config("refined"), *_paper(POINT_SHARES, MORE_SUBSPACE), *PUBLISHED, *_starts(1, 3)],
        epsilons=[0.2, 0.4, 0.8, 1.2, 2.0],
        quick_epsilons=[0.4, 1.2],
    )


MISSING_OURS = replace(
    MIXTURE_POINT,
    name="missing-ours",
    title="Gaussian mixture, the server lacks 0, 1, 2 or 5 of 10 clusters: FedDP-KMeans alone",
    paper="figure in the appendix",
    kind="missing",
    data_sets=["mixture", "missing-1", "missing-2", "missing-5"],
    configs=[Config("refined"), *_paper(POINT_SHARES, MORE_SUBSPACE)],
    quick_configs=[Config("refined"), Config("paper", 0, POINT_SHARES)],
    epsilons=[0.2, 0.4, 0.8, 1.2, 2.0],
    quick_epsilons=[0.4, 1.2],
)

COHORTS = Experiment(
    name="cohorts",
    title="A sample of the clients in each release, or all of them: Gaussian mixture, every client protected",
    paper='"the better our amplification by sub-sampling becomes" (client-level results); no figure',
    kind="cohorts",
    data_sets=["clients-1000", "clients-5000"],
    configs=[
        *(Config("paper", 0, CLIENT_SHARES, sampling_rate=rate) for rate in (1.0, 0.5, 0.2, 0.1)),
        *(Config("refined", sampling_rate=rate) for rate in (1.0, 0.5, 0.2)),
    ],
    epsilons=[0.6, 2.5],
    seeds=5,
    quick_configs=[Config("paper", 0, CLIENT_SHARES, sampling_rate=rate) for rate in (1.0, 0.2)],
    quick_epsilons=[2.5],
)

PEERS = Experiment(
    name="peers-central",
    title="Without server data, against other private k-means programs on their own central data sets",
    paper="beyond the paper",
    kind="peers",
    data_sets=["gas", "letter", "digits", "s1"],
    configs=[Config("refined"), Config("dp-lloyd", 7), *LIBRARIES],
    epsilons=EPSILONS,
    quick_epsilons=[0.5, 2.0],
    seeds=20,
)

NO_SERVER = Experiment(
    name="no-server",
    title="The paper's mixture without server data: a public box only",
    paper="beyond the paper",
    kind="table",
    data_sets=["mixture-box", "clients-box"],
    configs=[Config("refined"), Config("oracle-floor")],
    epsilons=[0.25, 0.6, 1.0, 2.0],
    seeds=10,
    quick_epsilons=[1.0],
)

SHAPES = Experiment(
    name="shapes",
    title="Relatives of the paper's mixture: other dimensions, numbers of clusters and weights",
    paper="beyond the paper",
    kind="table",
    data_sets=["mixture-d50", "mixture-d200", "mixture-k5", "mixture-k20", "mixture-unbalanced", "clients-unbalanced"],
    configs=[Config("refined"), Config("paper", 0, POINT_SHARES), Config("oracle-floor"), Config("server-lloyds", 1)],
    epsilons=[0.25, 0.6, 1.24],
    seeds=5,
    quick_epsilons=[1.24],
)

MINUTES = {
    "mixture-point": 11,
    "census-5": 5,
    "census-2": 8,
    "census-6": 6,
    "mixture-1000": 6,
    "mixture-2000": 9,
    "mixture-5000": 19,
    "stackoverflow": 5,
    "travel": 10,
    "missing-1": 5,
    "missing-2": 5,
    "missing-5": 4,
    "missing-ours": 12,
    "elbow": 1,
    "assumptions": 1,
    "cohorts": 4,
    "peers-central": 3,
    "no-server": 3,
    "shapes": 3,
}
"""How long the runs of each experiment took when its page was last printed; see ``Experiment.minutes``."""

EXPERIMENTS = {
    made.name: replace(made, minutes=MINUTES.get(made.name, 0))
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
        _missing(1),
        _missing(2),
        _missing(5),
        MISSING_OURS,
        Experiment(
            name="elbow",
            title="Choosing k: cost of the weighted server points, k' = 20, true k = 10",
            paper="figure in the appendix",
            data_sets=["mixture", "mixture-clean"],  # The second: server data without the hundred uniform points.
            configs=[Config("paper"), Config("refined")],
            epsilons=[1.0],
            seeds=10,
            kind="elbow",
            measures=ELBOW,
            cluster_numbers=range(1, 21),
        ),
        Experiment(
            name="assumptions",
            title="Radius of each data set, and the theorem's assumptions",
            paper="table in the appendix",
            data_sets=["mixture", "census-2", "census-5", "census-6"],
            configs=[Config("paper")],
            epsilons=[1.0],
            seeds=1,
            kind="assumptions",
            measures=ASSUMPTIONS,
        ),
        COHORTS,
        PEERS,
        NO_SERVER,
        SHAPES,
    )
}
"""The experiments by name, in the paper's order. The tables of budget shares and Lloyd steps are read off the same runs."""
