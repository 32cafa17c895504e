"""The audit passes the algorithms of the studies as well."""

from functools import partial

import pytest

from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.audit.case import AuditCase
from feddp_kmeans.audit.whole_audit import audit
from feddp_studies.rivals import BASELINES
from feddp_studies.theory.assumptions import MixtureFacts
from feddp_studies.theory.cluster import cluster


@pytest.mark.parametrize(
    ("clusterer", "seed"),
    [(BASELINES["server-lloyds"], 11), pytest.param(partial(cluster, facts=MixtureFacts(24, 0.2, 1.0)), 12, marks=pytest.mark.slow)],
    ids=["rival", "appendix"],
)
def test_an_algorithm_of_the_studies_passes(clusterer, seed):
    found = audit(AuditCase(Settings(2, 8.0, lloyd_steps=1), seed=seed, clusterer=clusterer), runs=20, parts=())
    assert [finding for finding in found.findings if finding.refuted] == []
    assert found.failure_chance <= 1e-4
