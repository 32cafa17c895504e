"""Every number that was chosen by measurement, and the measurement. Tables: docs/refined.md and docs/no_server_data.md.

"Lost" means that no center was near one of the true clusters. Excess is cost above optimal; "x floor" is relative to one noisy release
of the optimal clusters' sums with the whole budget. A number without a measurement has none on record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from feddp_kmeans.privacy.unit import PrivacyUnit

DEFAULT_SPLIT = "balanced"


@dataclass(frozen=True)
class RefinedTuning:
    """The numbers of method ``refined`` with server data, and of its planner."""

    splits: Mapping[str, Mapping[str, float]] = field(
        default_factory=lambda: {
            DEFAULT_SPLIT: {"client sizes": 0.02, "second moment": 0.21, "cells": 0.09, "subspace steps": 0.06, "sums": 0.62},
            "more for sums": {"client sizes": 0.02, "second moment": 0.16, "cells": 0.08, "subspace steps": 0.05, "sums": 0.69},
        }
    )
    """Parts of the budget mu**2. At epsilon 0.1 the second is better where the subspace is easy to find (mixture: 1.45 x floor, not 1.6 x)
    and loses clusters where it is not (mixture-d50: 6.0 x, not 2.4 x)."""
    default_steps: int = 1  # Lloyd steps if the number of units is not public: best or nearly so in most measurements
    candidate_steps: tuple[int, ...] = (0, 1, 2)
    """Lloyd steps that the planner tries: which is best depends on the data (mixture-d50 two, mixture one, stackoverflow fewer)."""
    simulated_units: int = 500  # size of the planner's simulation, which takes about a second for 1,000 clients
    largest_planned_unit: int = 16
    planner_margin: float = 0.005  # part of the simulated cost by which a candidate must beat the default
    subspace_steps: Mapping[PrivacyUnit, int] = field(default_factory=lambda: {PrivacyUnit.POINT: 5, PrivacyUnit.CLIENT: 3})
    """Lloyd steps inside the subspace. Points: three steps lost a cluster in 3 of 9 runs (mixture-d50 at 0.1), five in 1 of 17. Clients:
    five steps lost one in 1 of 20 runs (clients-1000 at 1.24), three in 0 of 60."""
    cell_counts: float = 1.0  # weight of counts relative to residuals in a typical unit's vector; twice as much made no difference
    subspace_counts: float = 0.4  # the same for steps in the subspace
    full_counts: float = 0.2  # the same for steps in full space
    cells_per_cluster: int = 6
    """15 per cluster lost a cluster in 1 of 30 runs (clients-1000 at 1.24) and 25 in 7 of 30; 6, 8 and 10 in none."""
    points_per_cell: int = 3  # least mean number of server points of a cell: a cell of one point shows nothing of its spread
    chosen_cell_steps: Mapping[PrivacyUnit, int] = field(default_factory=lambda: {PrivacyUnit.POINT: 3, PrivacyUnit.CLIENT: 2})
    """Steps of the cells if k is to be chosen, out of those in the subspace: the mixture's uniform server points make cells of many
    clusters. Planted k found in 0 of 9 mixtures with one step, 6 with two, 7 with three."""
    cell_iterations: int = 20  # Lloyd iterations on server points that make the cells: they need not converge
    rank_factor: int = 2
    """Largest dimension of the subspace, in multiples of k. Exactly k was worse on real tables: census-5 at 1 has 0.31 %
    excess, not -0.16 %."""
    largest_signal: float = 0.1
    """Largest squared error of a center that is believed, as a part of the server data's variance. Without: stackoverflow at 0.59 has 8.9 %
    excess, not 8.3 %."""
    least_signal: float = 15.0
    """Total weight, in standard deviations of one cell's noise, below which client data cannot improve on the server's."""
    prior_weight: float = 2.0
    """Weight of the server's covariance in the second moment, in squared ratios of the noise's spectral edge to the covariance."""
    largest_simulated_size: int = 1024
    """Points of the largest simulated unit; a smaller bound only gives large clients less weight, which costs no accuracy."""
    simulated_points: int = 20_000  # simulated units for one bound: as many as these points allow, within the next two limits
    fewest_simulated: int = 20
    most_simulated: int = 400


@dataclass(frozen=True)
class BoundTuning:
    """The numbers behind every bound on residuals, with or without server data."""

    tail: float = 0.99  # quantile of lengths beyond which vectors are scaled down even if noise leaves room
    long_tail: float = 1.5  # lengths are heavy-tailed if their ``tail`` quantile exceeds this many medians
    cheap: float = 0.002
    """Part of the cost that the noise of a longer bound may add. Bounds at the median in any case: log-normal points (20,000 x 6) at
    epsilon 1 have 12.7 % excess, not 2.4 %."""
    unbounded: float = 1024.0  # the bound in lengths of a typical unit, if there is no noise to keep small


@dataclass(frozen=True)
class DomainTuning:
    """The numbers of the private search for a center and a scale."""

    rounds: int = 3  # looks for the center if no region is public; each is sharper by the ratio of the points' spread to the noise
    count_weight: float = 0.5  # weight of the count relative to a typical point
    reach: float = 0.98  # quantile of the distances that the ball must hold ...
    margin: float = 2.0  # ... and what it is multiplied by
    room: float = 16.0  # after the first look: how far classes reach beyond the last typical distance ...
    round_classes: int = 56  # ... and how many half octaves there are below
    point_classes: int = 20  # classes of lengths, half an octave each ...
    client_classes: int = 44  # ... and for clients, whose vectors may be longer by their number of points
    largest_client: float = 2.0**12  # points of a client beyond which its contribution is scaled down whatever the others send


@dataclass(frozen=True)
class ServerlessTuning:
    """The numbers of method ``refined`` without server data. They were chosen on digits, letter, gas, S1 and the mixture."""

    shares: Mapping[str, float] = field(
        default_factory=lambda: {
            "distances": 0.01,
            "mean": 0.06,
            "bounds": 0.03,
            "second moment": 0.12,
            "candidates": 0.16,
            "cells": 0.08,
            "sums": 0.54,
        }
    )
    """Parts of the budget mu**2."""
    lloyd_steps: int = 7
    """Lloyd steps after the first sums. Many small releases lose nothing: they are averaged while the centers stand still."""
    candidate_rounds: int = 2  # one round: digits at 0.25 cost 4.94, not 4.67
    most_candidates: int = 1000
    """1,000 whatever the noise: letter at 0.1 costs 0.223, not 0.210. So noise decides, up to this many: more do not help."""
    least_candidates: int = 6  # in multiples of k
    spread: float = 1.2
    """Spread of the first candidates relative to the points, so that clusters at the rim are reached. As wide as the noisy eigenvalues say:
    digits at 0.25 cost 4.81, not 4.59."""
    resampled_spread: float = 0.4  # spread of later candidates around the heavy ones before them
    credible_candidate: float = 1.5  # weight below which a candidate is dropped, in standard deviations of its noise ...
    credible_cell: float = 1.0  # ... and the same for a cell
    cell_steps: int = 2
    chosen_cell_steps: int = 6
    """Steps if k is to be chosen, for the same part of the budget: cells that have not yet come to their points hold several clusters. The
    separations of 10 and of 11 clusters of the mixture (10 planted, 50,000 points, epsilon 4) are 1.24 and 1.07 after two steps, 1.56 and
    0.71 after six."""
    cells_per_cluster: int = 4
    """Centers of the Lloyd steps in the subspace, in multiples of k: with more of them than clusters none is lost. Without them the
    mixture at 0.25 costs 50.44, not 49.96; 2 and 6 per cluster at 0.1: 50.14 and 50.28, not 50.13."""
    cell_restarts: int = 3
    rank_factor: int = 2  # largest dimension of the subspace, in multiples of k, as with server data
    cell_counts: float = 0.7  # weight of counts relative to a typical residual, in the subspace ...
    full_counts: float = 0.3  # ... and in full space
    least_count: float = 2.0  # least divisor of a mean, in standard deviations of the noise of a count
    largest_signal: float = 0.3  # largest squared error of a center that is believed, as a part of the variance of its direction
    least_variance: float = 0.3  # least variance of a direction that is believed, as a part of the mean one
    least_trace: float = 0.02  # least trace that is believed, as a part of the largest possible one
    clear_direction: float = 1.5  # eigenvalue, in spectral edges of the noise, from which a direction is beyond doubt
    hopeless: float = 0.5  # spectral edge of the noise, as a part of the largest possible variance, that hides all other directions
    supported: float = 1.5  # size of a cluster, in standard deviations of its noise, from which it is called one
    full_reach: float = 8.0  # longest residual that a histogram of lengths distinguishes, in typical distances from the mean ...
    subspace_reach: float = 1.2  # ... and in the subspace
    least_within: float = 0.1  # least part of the trace that is taken to lie within clusters


@dataclass(frozen=True)
class GridTuning:
    """The numbers of the grid for one and two dimensions."""

    largest_dimension: int = 2
    """In two dimensions the grid beats candidates drawn from moments: S1 at 0.25 costs 0.0021, not 0.0032."""
    count_part: float = 0.03
    """Part of epsilon for the number of points. The histogram has the rest: with 60 % and Lloyd steps after it S1 at 0.1 costs 0.0029, not
    0.0025."""
    domain_part: float = 0.3  # part of epsilon for the domain if none is public ...
    distance_part: float = 0.3  # ... and the part of it for the distances; the mean has the rest
    gaussian_price: float = 4.5  # rough noise multiplier of a Gaussian release relative to a Laplace one of the same epsilon
    points_per_cell: float = 4.0
    """The uniform grid has (n epsilon / c) to the power 2 d / (d + 2) cells. Su et al. (2016) take c = 10; empty cells are left out here,
    so they may be smaller: S1 at 0.25 costs 0.00212, not 0.00219."""
    cube: float = 0.6  # half the width of the grid relative to the radius of a private ball, which is twice the reach of the points
    least_cells: int = 6  # in multiples of k
    most_cells: int = 1 << 13
    blur: float = 0.7  # width of the blur, in cells, before a cell is compared with noise: a single noisy cell does not count
    credible: float = 3.0  # standard deviations above zero from which a blurred cell counts


@dataclass(frozen=True)
class ChoosingTuning:
    """The numbers behind the choice of k: docs/choosing_k.md."""

    apart: float = 1.8
    """Distance of two clusters, in sums of their standard deviations, from which they are apart. Halves of a uniform interval have
    sqrt(3) = 1.73, with some chance in a sample. 1.75, 1.85, 2.0 and 2.2 were right for 112, 110, 108 and 104 of 129 planted sets."""
    nearly_apart: float = 1.4
    much_closer: float = 0.8
    """If no clusters are apart: those are picked that have the first separation, if those of all larger numbers are below the second times
    theirs. It finds 5 more of 39 mixtures, and no clusters in any of 42 sets without them."""
    cell_part: float = 0.06  # part of the budget that goes from the sums to the cells if k is to be chosen
    credible: float = 2.0  # least weight of a cluster in standard deviations of its noise; single cells must stand out more
    least_share: float = 0.004  # least part of the points that is a cluster; fewer are outliers
    noise_mean: float = 0.25  # mean weight, in standard deviations, of an empty cell whose weight is dropped below one
    restarts: int = 5  # starts of the largest number of clusters; the others start from it
    lloyd_steps: int = 10
    most_proxies: int = 2_000  # beyond (a fine grid) neighbours are not looked at


REFINED = RefinedTuning()
BOUNDS = BoundTuning()
DOMAIN = DomainTuning()
SERVERLESS = ServerlessTuning()
GRID = GridTuning()
CHOOSING = ChoosingTuning()
