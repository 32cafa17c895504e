"""Knots in Python: tables with names, ranges and a schema, and what the result says."""

import numpy as np
import pyarrow as pa
import pytest

from feddp_kmeans import BudgetError, FedDPKMeans, FedDPWarning, InMemoryFederation, InputError
from feddp_kmeans.knots import private_knots
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.tables.schema import Schema

RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "sex": RNG.choice(["female", "male"], 20_000),
        "income": RNG.lognormal(10, 1, 20_000),
        "age": RNG.uniform(18, 99, 20_000),
    }
)
RULES = {"sex": {"categories": ["female", "male"]}, "income": {"range": [0, 1e7], "scale": "log", "weight": 0.5}, "age": {"number": True}}


def test_the_named_columns_get_knots_and_all_else_stays(tmp_path):
    found = private_knots(TABLE, ["age", "income"], epsilon=1.0, schema=RULES, random_state=0)
    before, after = Schema.from_dict({"columns": RULES}), found.schema
    assert after.names == before.names
    assert after.fields[0] == before.fields[0]
    income, age = after.fields[1:]
    assert (income.scale, income.weight, income.low, income.high, income.knots) == ("quantile", 0.5, 0, 1e7, found.knots["income"])
    assert income.knots[5] == pytest.approx(np.median(TABLE["income"]), rel=0.1)
    assert age.knots[1:10] == pytest.approx(np.quantile(TABLE["age"], np.arange(1, 10) / 10), abs=2)
    assert set(found.rank_errors) == {"age", "income"}
    assert (found.remarks, found.plan.epsilon, found.privacy.secure) == ((), 1.0, False)
    after.write(tmp_path / "schema.toml", found.note)
    assert Schema.read(tmp_path / "schema.toml") == after
    first = (tmp_path / "schema.toml").read_text().splitlines()[0]
    assert first == "# Knots of income, age: learnt from clients, for epsilon 1, delta 1e-06, unit point."
    model = FedDPKMeans(2, epsilon=2.0, schema=after, random_state=0).fit(TABLE)
    assert 0 < model.profiles_[0][1].value < 1e7


def test_clients_arrays_groups_and_ranges():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(20_000.0), "b": 1.0})
    halves = [frame[::2], frame[1::2]]
    assert private_knots(halves, ["a"], epsilon=1.0, ranges={"a": (0, 20_000)}).knots["a"][5] == pytest.approx(10_000, abs=500)
    by_client = private_knots(frame, ["a"], epsilon=1.0, privacy_unit="client", groups=np.arange(20_000) // 10)
    assert by_client.privacy.unit.value == "client"
    assert by_client.knots["a"][5] == pytest.approx(10_000, abs=1500)
    array = private_knots(frame.to_numpy(), ["x0"], epsilon=1.0)
    assert array.schema.names == ("x0", "x1")


def test_what_has_no_knots_is_said_and_stays_as_it_was():
    table = pa.table({"same": np.full(20_000, 7.0), "gone": np.full(20_000, np.nan)})
    with pytest.warns(FedDPWarning) as warned:
        found = private_knots(table, ["same", "gone"], epsilon=1.0, ranges={"same": (0, 9)}, random_state=0)
    assert found.knots == {"same": (0.0, 7.0, 9.0)}
    (line,) = [str(one.message) for one in warned]
    assert line.startswith("column 'gone' has no knots: noise hides where its values lie; a larger epsilon would help")
    assert [column.kind for column in found.schema.fields] == ["number", "open"]


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ("income", {}, r"columns must be a list of names, such as \['income'\], got 'income'"),
        ([], {}, "columns must be a list of names"),
        (["incme"], {"schema": RULES}, "columns must be in the table and its schema, got 'incme': did you mean income?"),
        (["sex"], {"schema": RULES}, "column 'sex' must hold numbers to have knots, got kind 'category'"),
        (["income"], {}, "column 'sex' of X must hold numbers, got words in most cells"),
        (["income"], {"schema": RULES, "epsilon": 0.0}, "epsilon must be positive"),
        (["income"], {"schema": RULES, "privacy_unit": "house"}, "privacy_unit must be 'point' or 'client'"),
        (["income"], {"schema": RULES, "random_state": 0.5}, "random_state must be None or a whole number"),
        (["income"], {"schema": RULES, "limit": 1.0}, "odometer must be given together with a limit"),
    ],
)
def test_what_cannot_be_learnt_is_refused_in_one_line(columns, more, message):
    with pytest.raises(InputError, match=message):
        private_knots(TABLE, columns, **{"epsilon": 1.0} | more)
    with pytest.raises(InputError, match="got a Federation, whose columns have no names"):
        private_knots(InMemoryFederation([np.zeros((3, 1))]), ["x0"], epsilon=1.0)


def test_runs_are_booked_and_limited(tmp_path):
    books = {"odometer": tmp_path / "books.jsonl", "limit": 0.15}
    found = private_knots(TABLE, ["age"], epsilon=0.1, schema=RULES, **books)
    (entry,) = Odometer(tmp_path / "books.jsonl").entries()
    assert entry.plan.releases[0].times == found.plan.releases[0].times
    assert entry.private
    with pytest.raises(BudgetError, match=r"must stay within epsilon 0\.15"):
        private_knots(TABLE, ["age"], epsilon=0.12, schema=RULES, **books)
