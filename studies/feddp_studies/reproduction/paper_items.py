"""Every figure, table, algorithm and theorem of the paper: where it is here, how it is made, and which claims it decides."""

from collections.abc import Iterable
from dataclasses import dataclass

from feddp_studies.reproduction.claim_verdicts import DecidedClaim, Runs

CODE, THEORY = "[code](paper_to_code.md)", "[theory](theory.md)"
NOT_RUN = "not run here"


@dataclass(frozen=True)
class Item:
    """One item of the paper."""

    where: str
    what: str
    made: str
    """How it is made here: an experiment's name, or a module."""
    claims: tuple[str, ...] = ()
    """Claims that it decides."""
    otherwise: str = ""
    """What stands in place of a verdict where there is no claim."""
    experiments: tuple[str, ...] = ()
    """Experiments it is made from."""


def _figure(where: str, what: str, name: str, *claims: str) -> Item:
    return Item(where, what, f"`feddp reproduce {name}`", claims, experiments=(name,))


ITEMS = (
    Item(
        "Algorithm 1",
        "FedDP-Init",
        "`algorithm/feddp_init.py`, `algorithm/methods/paper.py`",
        otherwise=f"as written but for a list of differences: {CODE}",
    ),
    Item("Algorithm 2", "FedDP-Lloyds", "`algorithm/feddp_lloyds.py`", otherwise=f"the same: {CODE}"),
    Item(
        "Theorem 1",
        "privacy of both algorithms",
        'Settings(composition="paper-naive"), `feddp audit`',
        otherwise="[proofs](proofs.md): delta must be divided among two Gaussian steps",
    ),
    Item("Definition, separation", "c-separated mixtures", "`theory/assumptions.py: separation_constant`", otherwise=THEORY),
    Item("Theorem 2 and its corollary", "error of the practical algorithm", "`theory/`", otherwise=THEORY),
    _figure(
        "Figure 1, left",
        "mixture, 100 clients, points protected",
        "mixture-point",
        "wide-margin",
        "plateau",
        "optimal-at-0.4",
        "k-fed-optimal",
    ),
    _figure("Figure 1, right", "census, federal employees", "census-5", "census-better", "census-optimal", "server-starts", "packing"),
    _figure("Figure, appendix", "census, not-for-profit", "census-2", "census-better", "census-optimal"),
    _figure("Figure, appendix", "census, self-employed", "census-6", "census-better", "census-optimal"),
    _figure("Figure 2, left", "mixture, 2,000 clients, clients protected", "mixture-2000", "clients-starts", "more-clients", "crossing"),
    _figure("Figure, appendix", "mixture, 1,000 clients", "mixture-1000", "clients-starts", "more-clients", "crossing"),
    _figure("Figure, appendix", "mixture, 5,000 clients", "mixture-5000", "clients-starts", "more-clients", "crossing"),
    _figure("Figure 2, right", "Stack Overflow, github and pdf", "so-github-pdf", "questions", "questions-k-fed"),
    _figure("Figure, appendix", "Stack Overflow, facebook and hibernate", "so-facebook-hibernate", "questions", "questions-k-fed"),
    _figure("Figure, appendix", "Stack Overflow, plotting and cookies", "so-plot-cookies", "questions", "questions-k-fed"),
    _figure("Figure, appendix", "Stack Overflow, machine-learning and math", "so-machine-learning-math", "questions", "questions-k-fed"),
    _figure("instead of these four", "Stack Exchange, c# and java", "stackoverflow", "questions", "questions-k-fed"),
    _figure("instead of these four", "Stack Exchange, visas and air travel", "travel", "questions", "questions-k-fed"),
    _figure("Figure, appendix", "0, 1, 2, 5 clusters missing, ours only", "missing-ours", "missing"),
    _figure("Figure, appendix", "1 cluster missing", "missing-1", "missing-best", "missing-starts"),
    _figure("Figure, appendix", "2 clusters missing", "missing-2", "missing-best", "missing-starts"),
    _figure("Figure, appendix", "5 clusters missing", "missing-5", "missing-best", "missing-starts"),
    _figure("Figure, appendix", "choosing k", "elbow", "elbow"),
    _figure("Table of radii", "radius of each data set", "assumptions", "radii", "assumption-1", "assumption-2", "census-cost"),
    Item("Table of shares, points", "budget of each step on the front", "the table of fronts below", ("point-shares",)),
    Item("Table of shares, clients", "budget of each step on the front", "the table of fronts below", ("client-shares",)),
    Item("Table of steps, points", "Lloyd steps on the front", "the table of fronts below", ("few-steps-point", "mostly-none")),
    Item("Table of steps, clients", "Lloyd steps on the front", "the table of fronts below", ("few-steps-client", "mostly-none")),
    Item("Appendix, data sets", "mixture, census, Stack Overflow", "`datasets/`, [data](data.md)", ("census-sizes",)),
    Item(
        "Appendix, baselines",
        "SpherePacking, server starts, k-FED, Optimal",
        "`rivals/`, [rivals](baselines.md)",
        otherwise="as described there",
    ),
    Item(
        "Appendix, client level",
        "clipping to B, mean of means",
        "`statistics/paper_sums.py`, `algorithm/client_bounds.py`",
        otherwise=f"the same: {CODE}",
    ),
    Item(
        "5.2, sub-sampling", "amplification by sub-sampling of clients", "`feddp reproduce cohorts`", ("cohorts",), experiments=("cohorts",)
    ),
    Item("Appendix, theory", "SimplifyServerData, Cluster, diameter, Awasthi-Sheffet", "`theory/`", otherwise=THEORY),
)


def item_rows(found: Iterable[DecidedClaim], runs: Runs) -> Iterable[list[str]]:
    """Yield each item as a line of a table, with the verdicts of its claims."""
    verdicts = {one.claim.name: one.verdict for one in found}
    for item in ITEMS:
        told = [f"{name}: **{verdicts[name]}**" for name in item.claims if name in verdicts]
        run_here = all(name in runs for name in item.experiments)
        yield [item.where, item.what, item.made, ("; ".join(told) if run_here else NOT_RUN) or item.otherwise or NOT_RUN]
