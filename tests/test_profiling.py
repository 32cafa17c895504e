"""Profiles in Python."""

import numpy as np
import pyarrow as pa
import pytest

from feddp_kmeans import FedDPKMeans, InMemoryFederation
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.profiling import profile_clusters

RNG = np.random.default_rng(0)
GROUPS = RNG.integers(0, 2, 6000)
TABLE = pa.table(
    {
        "x": 8.0 * GROUPS + 0.3 * RNG.standard_normal(6000),
        "sex": np.where(RNG.random(6000) < 0.2 + 0.6 * GROUPS, "f", "m"),
        "age": 30 + 20 * GROUPS + 5 * RNG.standard_normal(6000),
    }
)
SEX = {"sex": {"categories": ["f", "m"]}}


def fitted(**more):
    return FedDPKMeans(2, epsilon=4.0, ranges={"x": (-5, 15)}, random_state=0, **more)


def test_columns_that_were_not_clustered_or_were(tmp_path):
    model = fitted().fit(TABLE.select(["x"]))
    ledger = tmp_path / "budget.jsonl"
    options = {"epsilon": 0.5, "schema": SEX, "ranges": {"age": (0, 100)}, "random_state": 1, "odometer": ledger}
    with pytest.raises(FedDPError, match="column 'height' must have public categories"):
        profile_clusters(model, TABLE, ["height"], **options)
    found = profile_clusters(model, TABLE, ["age", "sex", "x"], **options)
    labels = model.predict(TABLE.select(["x"]))
    for r in range(2):
        share = np.mean(np.array(TABLE["sex"])[labels == r] == "f")
        assert abs(found["sex"].shares[r, 0] - share) < 5 * found["sex"].errors[r, 0]
        assert abs(found["age"].means[r] - np.array(TABLE["age"])[labels == r].mean()) < 5 * found["age"].mean_errors[r]
    assert found.plan.unit is PrivacyUnit.POINT
    assert len(Odometer(ledger).entries()) == 1


def test_clients_of_groups_and_lists_give_the_same():
    who = np.arange(6000) // 6
    model = fitted(privacy_unit="client", client_size=6).fit(TABLE.select(["x"]), groups=who)
    options = {"epsilon": 1.0, "schema": SEX, "random_state": 1, "client_size": 6}
    one = profile_clusters(model, TABLE, ["sex"], groups=who, **options)
    many = profile_clusters(model, [TABLE.slice(start, 6) for start in range(0, 6000, 6)], ["sex"], **options)
    assert np.array_equal(one["sex"].shares, many["sex"].shares)
    assert one.plan.unit is PrivacyUnit.CLIENT


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        (["age"], {}, "column 'age' must have public categories or a public range"),
        ([], {}, "columns must be a list of names"),
        ("sex", {"schema": SEX}, "columns must be a list of names"),
        (["sex", "sex"], {"schema": SEX}, "columns must be named once each"),
        (["sex"], {"schema": SEX, "epsilon": -1.0}, "epsilon must be"),
    ],
)
def test_what_cannot_be_profiled_is_refused(columns, more, message):
    model = fitted().fit(TABLE.select(["x"]))
    with pytest.raises(FedDPError, match=message):
        profile_clusters(model, TABLE, columns, **{"epsilon": 1.0} | more)


def test_a_federation_is_refused():
    model = fitted().fit(TABLE.select(["x"]))
    with pytest.raises(FedDPError, match="got a Federation, whose columns have no names"):
        profile_clusters(model, InMemoryFederation([np.zeros((3, 1))]), ["sex"], epsilon=1.0)
