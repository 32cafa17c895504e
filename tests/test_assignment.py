"""What the holder of points does with released centers."""

import numpy as np
import pytest
from scipy import sparse

from feddp_kmeans import FedDPError, InMemoryFederation
from tests.three_corners import CLIENTS, SERVER, model


def test_predict_transform_and_score_agree():
    fitted = model().fit(CLIENTS, server_data=SERVER)
    pooled = np.concatenate(CLIENTS)
    distances = fitted.transform(pooled)
    assert np.array_equal(fitted.predict(pooled), distances.argmin(axis=1))
    assert fitted.score(pooled) == pytest.approx(-np.square(distances.min(axis=1)).sum())
    assert np.array_equal(model().fit_predict(CLIENTS, server_data=SERVER), fitted.predict(pooled))
    assert model().fit_transform(CLIENTS, server_data=SERVER) == pytest.approx(distances)
    assert len(fitted.get_feature_names_out()) == 3


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_row_that_is_not_finite_has_no_cluster(form):
    fitted = model().fit(CLIENTS, server_data=SERVER)
    rows = np.array([[4.0, 0, 0], [np.nan, 0, 0], [0, np.inf, 0]])
    labels = fitted.predict(form(rows))
    assert labels[0] >= 0
    assert labels[1:].tolist() == [-1, -1]
    assert np.isfinite(fitted.score(form(rows)))
    assert np.isnan(fitted.transform(form(rows))[1:]).all()


def test_labels_of_a_federation_stay_with_its_clients():
    with pytest.raises(FedDPError, match="whose points stay where they are"):
        model().fit_predict(InMemoryFederation(CLIENTS), server_data=SERVER)
