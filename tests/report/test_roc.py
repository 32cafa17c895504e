"""The picture of an audit: well-formed, inside its frame, and plain about what is refuted."""

import re
from xml.etree import ElementTree as ET

import numpy as np

from feddp_kmeans.audit.attack import claim_of, verdict_on
from feddp_kmeans.privacy.mechanism import Mechanism, Release
from feddp_kmeans.report.roc import roc_chart
from tests.report.examples import HOSTILE


def drawn(shift, name="sums"):
    rng = np.random.default_rng(0)
    claim = claim_of([(Release("r", Mechanism.GAUSSIAN, 1.0, 1.0, 1.0, 1), 1)], 1e-6)
    return {"verdicts": {name: verdict_on(claim, rng.standard_normal(500) + shift, rng.standard_normal(500)).to_dict()}}


def test_the_picture_is_well_formed_and_stays_inside_its_frame():
    tree = ET.fromstring(roc_chart(drawn(1.0, HOSTILE)))
    for line in tree.iter():
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", line.get("points", "")):
            assert 0 <= float(x) <= 250
            assert 0 <= float(y) <= 250
    assert "<script" not in roc_chart(drawn(1.0, HOSTILE))


def test_the_picture_says_what_is_refuted():
    assert "not refuted" in roc_chart(drawn(1.0))
    assert "not refuted" not in roc_chart(drawn(3.0))
    assert ">refuted<" in roc_chart(drawn(3.0))


def test_an_audit_without_attacks_has_a_picture_too():
    ET.fromstring(roc_chart({"verdicts": {}}))
