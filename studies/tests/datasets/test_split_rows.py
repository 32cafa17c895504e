"""Rows that become clients and server data."""

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans.errors import FedDPError
from feddp_studies.datasets.split_rows import draw_rows, split_by_owner


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_go_to_their_owners_in_order(form):
    points = form(np.arange(10.0).reshape(5, 2))
    clients = split_by_owner(points, np.array(["b", "a", "b", "c", "a"]))
    dense = [c.toarray() if sparse.issparse(c) else c for c in clients]
    assert [c.tolist() for c in dense] == [[[2, 3], [8, 9]], [[0, 1], [4, 5]], [[6, 7]]]


def test_rows_are_drawn_once_and_never_more_than_there_are():
    rng = np.random.default_rng(0)
    rows = np.arange(10, 20)
    assert sorted(draw_rows(rng, rows, 10, "n")) == rows.tolist()
    assert len(draw_rows(rng, rows, 0, "n")) == 0
    with pytest.raises(FedDPError, match="n must be from 0 to the 10 rows there are, got 11"):
        draw_rows(rng, rows, 11, "n")
    with pytest.raises(FedDPError, match="got -1"):
        draw_rows(rng, rows, -1, "n")
