"""The earlier run that a fit goes on from."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.errors import InputError
from feddp_kmeans.report.result import result_dict, write_result


def test_a_fit_goes_on_from_a_fitted_model_or_a_run_folder(tmp_path):
    rng = np.random.default_rng(0)
    table = np.repeat([[0.2, 0.2, 0.5], [0.8, 0.8, 0.5]], 2000, axis=0) + 0.03 * rng.standard_normal((4000, 3))
    january = FedDPKMeans(2, epsilon=1.0, box=(0, 1), random_state=0).fit(table)
    february = FedDPKMeans(2, epsilon=0.3, box=(0, 1), random_state=1).fit(table, last=january)
    assert np.abs(february.cluster_centers_ - january.cluster_centers_).max() < 0.05
    assert len(february.plan_.releases) < len(january.plan_.releases)
    write_result(tmp_path, result_dict(january.clustering_, columns=["a", "b", "c"], seed=0))
    same = FedDPKMeans(2, epsilon=0.3, box=(0, 1), random_state=1).fit(table, last=tmp_path)
    assert (same.cluster_centers_ == february.cluster_centers_).all()
    with pytest.raises(InputError, match="last must be a fitted FedDPKMeans or the folder of a run, got dict"):
        FedDPKMeans(2, box=(0, 1)).fit(table, last={})
    with pytest.raises(InputError, match="last must be given without server_data"):
        FedDPKMeans(2, box=(0, 1)).fit(table, last=january, server_data=table[:50])
