"""The gate for public arguments: floats and float64 arrays of the stated shape, order and range come through, and nothing else does."""

import numpy as np
import pytest

from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.federation.in_memory import InMemoryFederation
from feddp_kmeans.privacy.booking import Books
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.gate import Argument, parse
from feddp_kmeans.statistics.paper_sums import CLUSTER_SUMS, OUTER_PRODUCT
from feddp_kmeans.statistics.query import Query, check_query
from feddp_kmeans.statistics.residual_sums import CLIENT_RESIDUALS
from tests.adversary.generator import honest, world
from tests.strategies import one_client

ONE = {"x": Argument(low=0.0, high=2.0)}
ROW = {"x": Argument(("d",), low=-1.0, high=4.0)}
TABLE = {"x": Argument(("k", "d"), row_norm=5.0, column_norm=6.0)}
PAIR = {"p": Argument(("d", "p"), optional=True), "x": Argument(("k", "p"))}


def accepted(arguments, dimension=3, **public):
    return parse(arguments, lambda **_: None, public, dimension)[0]


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0, np.float64(1.5), 5e-324])
def test_floats_in_range_come_through_as_floats(value):
    assert type(accepted(ONE, x=value)["x"]) is float


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (1, "x must be a float, got int"),
        (True, "x must be a float, got bool True"),
        ("1.0", "x must be a float, got str '1.0'"),
        (None, "x must be a float, got NoneType"),
        (np.float32(1), "x must be a float, got float32"),
        (np.ones(()), r"x must be a float, got 'float64' of shape \(\)"),
        ([1.0], "x must be a float, got list"),
        (10**4000, "x must be a float, got int"),
        ("y" * 500, "x must be a float, got str 'y{59}\\.\\.\\.\\.$"),
        (float("nan"), "x must be from 0 to 2, got nan"),
        (float("inf"), "x must be from 0 to 2, got inf"),
        (np.nextafter(2.0, 3.0), r"x must be from 0 to 2, got 2\.0000000000000004"),
        (-5e-324, "x must be from 0 to 2, got -5e-324"),
    ],
)
def test_other_numbers_are_refused_by_name(value, match):
    with pytest.raises(FedDPError, match=match):
        accepted(ONE, x=value)


@pytest.mark.parametrize("dtype", ["<i8", "<u8", "<i4", "<f4", "<f2", ">f8", "?", "O", "<c16", "<U3"])
def test_arrays_of_another_type_are_refused_by_name(dtype):
    with pytest.raises(FedDPError, match=r"x must be an array of float64, got '.*' of shape \(3,\)"):
        accepted(ROW, x=np.ones(3).astype(dtype))


@pytest.mark.parametrize(
    ("arguments", "value", "match"),
    [
        (ROW, [1.0, 1.0, 1.0], "x must be an array of float64, got list"),
        (ROW, np.ones((1, 3)), r"x must have shape \(3\), got \(1, 3\)"),
        (ROW, np.ones(4), r"x must have shape \(3\), got \(4,\)"),
        (ROW, np.array([0, np.nan, 0]), "x must be from -1 to 4, got nan"),
        (ROW, np.array([0, 0, 4.5]), r"x must be from -1 to 4, got 4\.5"),
        (TABLE, np.ones((0, 3)), r"x must have shape \(k, 3\), k from 1 to 1048576, got \(0, 3\)"),
        (TABLE, np.ones((2, 3, 1)), r"x must have shape \(k, 3\)"),
        (TABLE, np.array([[3.0, 4, 0], [3, 4, 1]]), r"x must have rows of norm at most 5, got 5\.09"),
        (TABLE, np.full((37, 3), 1.0), r"x must have columns of norm at most 6, got 6\.08"),
        (TABLE, np.full((1, 3), 1e300), "x must have rows of norm at most 5, got inf"),
        ({"x": Argument(("e",), ascending=True)}, np.array([1.0, 2, 1.5]), r"x must be in ascending order, got 1\.5"),
        ({"x": Argument(("e",), whole=True)}, np.array([1.0, 2.5]), r"x must hold whole numbers, got 2\.5"),
    ],
)
def test_arrays_of_another_shape_order_or_range_are_refused_by_name(arguments, value, match):
    with pytest.raises(FedDPError, match=match):
        accepted(arguments, x=value)


def test_sizes_go_together_and_a_missing_projection_stands_for_the_whole_space():
    assert accepted(PAIR, x=np.ones((2, 3)))["p"] is None
    assert accepted(PAIR, x=np.ones((2, 1)), p=np.ones((3, 1)))["p"].shape == (3, 1)
    for given in ({"x": np.ones((2, 1))}, {"x": np.ones((2, 3)), "p": np.ones((3, 1))}, {"x": np.ones((2, 1)), "p": None}):
        with pytest.raises(FedDPError, match=r"x must have shape \(k, [13]\), k from 1 to 1048576, got"):
            accepted(PAIR, **given)
    with pytest.raises(FedDPError, match=r"p must have shape \(3, p\), p from 1 to 65536"):
        accepted(PAIR, 3, x=np.ones((2, 1 << 17)), p=np.zeros((3, 1 << 17)))


def test_names_are_all_given_and_no_others():
    with pytest.raises(FedDPError, match=r"public argument 'x' must be given, got none"):
        accepted(ONE)
    with pytest.raises(FedDPError, match=r"public arguments must be \['x'\], got 'y'"):
        accepted(ONE, x=1.0, y=1.0)


def test_what_came_through_cannot_be_changed_any_more():
    center = np.zeros(3)
    query = Query(OUTER_PRODUCT, {"center": center, "radius": 1.0}, 3)
    before = query.digest
    center[0] = 9.0
    assert query.digest == before
    assert query.public["center"][0] == 0
    with pytest.raises(TypeError, match="does not support item assignment"):
        query.public["radius"] = 2.0
    with pytest.raises(AttributeError):
        query.public = {}


def test_a_query_is_parsed_again_where_it_arrives():
    query = Query(OUTER_PRODUCT, {"center": np.zeros(3), "radius": 1.0}, 3)
    made, given = query.__reduce__()
    assert made is Query
    assert made(*given).digest == query.digest
    with pytest.raises(FedDPError, match="radius must be"):
        made(given[0], given[1] | {"radius": -1.0}, 3)


def test_a_query_of_another_dimension_is_no_query_of_these_points():
    query = Query(OUTER_PRODUCT, {"center": np.zeros(3), "radius": 1.0}, 3)
    with pytest.raises(FedDPError, match="points must have 3 coordinates, got 2"):
        query(one_client(np.ones((4, 2))))


def test_more_values_than_any_release_may_hold_are_refused():
    public = {"center": np.zeros(1000), "radius": 1.0, "projection": np.zeros((1000, 1)), "centers": np.zeros((1 << 20, 1))}
    with pytest.raises(FedDPError, match="statistic 'cluster-sums' must have at most 268435456 values, got 1048576000"):
        Query(CLUSTER_SUMS, public, 1000)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_argument_that_is_declared_is_taken_and_needed(name):
    rng = np.random.default_rng(0)
    where = world(rng)
    d = where.ball.dimension
    public = {key: value for key, value in honest(name, rng, where).items() if value is not None}
    Query(REGISTRY[name], public, d)
    for key in public.keys() & set(REGISTRY[name].arguments):
        if not REGISTRY[name].arguments[key].optional:
            with pytest.raises(FedDPError, match=f"public argument '{key}' must be given"):
                Query(REGISTRY[name], {other: value for other, value in public.items() if other != key}, d)
            with pytest.raises(FedDPError, match=f"{key} must be a"):
                Query(REGISTRY[name], public | {key: None}, d)
    for odd in ("n", "Center", ""):
        with pytest.raises(FedDPError, match="public arguments must be"):
            Query(REGISTRY[name], public | {odd: 1.0}, d)


def test_a_federation_parses_before_it_books(tmp_path):
    plan = Plan(PrivacyUnit.POINT, 1.0, 1e-6, (Release("moment", Mechanism.GAUSSIAN, 1.0, 2.0**32, 10.0, 6),))
    federation = InMemoryFederation([np.ones((5, 3))])
    odometer = Odometer(tmp_path / "odometer.jsonl")
    federation.books = Books(odometer)
    run = federation.open(plan, seed=0)
    with pytest.raises(FedDPError, match="radius must be a float, got int"):
        run.noisy_sum(OUTER_PRODUCT, plan["moment"], center=np.zeros(3), radius=1)
    assert odometer.entries() == []
    assert run.ledger.rows() == []
    assert len(run.noisy_sum(OUTER_PRODUCT, plan["moment"], center=np.zeros(3), radius=1.0)) == 6
    assert len(odometer.entries()) == 1


def test_a_query_of_more_values_than_its_release_is_refused():
    release = Release("sums", Mechanism.GAUSSIAN, 1.0, 2.0**30, 10.0, 7)
    public = {
        "center": np.zeros(3),
        "radius": 1.0,
        "centers": np.zeros((2, 3)),
        "origins": np.zeros((2, 3)),
        "bound": 9.0,
        "count_weight": 1.0,
    }
    with pytest.raises(BudgetError, match="release 'sums' must hold at most 7 values, got 8"):
        check_query(Query(CLIENT_RESIDUALS, public, 3), release, PrivacyUnit.CLIENT)
