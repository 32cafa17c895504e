"""Words of clusters in Python."""

import numpy as np
import pyarrow as pa
import pytest

from feddp_kmeans import FedDPKMeans, InMemoryFederation
from feddp_kmeans.cluster_texts import words_of_clusters
from feddp_kmeans.errors import FedDPError
from feddp_kmeans.privacy.odometer import Odometer

RNG = np.random.default_rng(0)
GROUPS = RNG.integers(0, 2, 4000)
TITLES = np.where(RNG.random(4000) < 0.7, np.where(GROUPS, "a cheap flight", "my visa"), "good question")
TABLE = pa.table({"x": 8.0 * GROUPS + 0.3 * RNG.standard_normal(4000), "title": TITLES})
WORDS = ["flight", "visa", "good", "question", "cheap"]


@pytest.mark.parametrize("unit", ["point", "client"])
def test_words_name_the_clusters(unit, tmp_path):
    who = np.arange(4000) // 2
    model = FedDPKMeans(2, epsilon=4.0, ranges={"x": (-5, 15)}, random_state=0, privacy_unit=unit, client_size=2)
    model.fit(TABLE.select(["x"]), groups=who)
    book = tmp_path / "budget.jsonl"
    found = words_of_clusters(model, TABLE, "title", WORDS, epsilon=2.0, groups=who, random_state=0, odometer=book)
    flights = int(model.predict(pa.table({"x": [8.0]}))[0])
    assert {word.word for word in found.words[flights]} == {"flight", "cheap"}
    assert found.names[1 - flights].startswith("visa")
    assert found.plan.unit.value == unit
    assert len(Odometer(book).entries()) == 1


def test_what_cannot_be_counted_is_refused():
    model = FedDPKMeans(2, epsilon=4.0, ranges={"x": (-5, 15)}, random_state=0).fit(TABLE.select(["x"]))
    for X, column, words, message in (
        (InMemoryFederation([np.zeros((3, 1))]), "title", WORDS, "got a Federation"),
        (TABLE, "title", "flight", "words must be a list of words"),
        (TABLE, "title", [], "distinct words"),
        (TABLE, "text", WORDS, "text"),
    ):
        with pytest.raises(FedDPError, match=message):
            words_of_clusters(model, X, column, words, epsilon=1.0)
