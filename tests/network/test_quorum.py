"""Defaults of server, sites and simulation: from one table, safe, and such that they go together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.errors import BudgetError, FedDPError
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.network.terms import Policy, assumed_colluders, default_threshold, safe_threshold
from feddp_kmeans.privacy.odometer import Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network import loopback
from tests.network.lying_server import PLAN, Liar, Meeting, identity, terms

TABLE = {1: (0, 1, 1), 2: (1, 2, 1), 3: (1, 3, 2), 4: (1, 3, 2), 5: (1, 4, 3), 10: (1, 7, 6), 31: (3, 21, 18), 100: (10, 67, 57)}
"""Sites: colluders, threshold, honest sites whose noise every sum holds."""


@pytest.mark.parametrize("sites", sorted(TABLE))
def test_the_defaults_are_those_of_the_docs(sites):
    colluders, threshold, honest = TABLE[sites]
    assert assumed_colluders(sites) == colluders
    assert default_threshold(sites, colluders) == threshold
    row = f"| {sites} | {colluders} | {threshold} | {safe_threshold(sites, colluders)} | {honest} |"
    assert row in (Path(__file__).parents[2] / "docs" / "secure_sum.md").read_text()


@pytest.mark.parametrize("sites", range(1, 301))
def test_the_defaults_are_safe_and_can_be_met(sites):
    colluders = assumed_colluders(sites)
    assert colluders >= 1 or sites == 1
    assert sites >= default_threshold(sites, colluders) >= safe_threshold(sites, colluders) > (sites + colluders) / 2
    assert default_threshold(sites, colluders) > colluders


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("sites", [3, 5, 31, 100])
def test_a_site_with_default_options_agrees_to_a_server_with_default_options(tmp_path, sites, signed):
    """The terms that the server makes by itself pass the site's own checks, of roster and parties; one less of anything fails."""
    keys = {f"site{i:02d}": identity(f"site{i:02d}") for i in range(sites)} if signed else {}
    roster = {name: key.public_key() for name, key in keys.items()} or None
    site = lambda name: {"identity": keys.get(name), "roster": roster}  # noqa: E731
    server, _ = loopback.federation([np.zeros((1, 1))] * sites, tmp_path, site=site, roster=roster)
    made, colluders = server.open(PLAN)._adder._terms, assumed_colluders(sites)
    assert made.confirmed == signed
    policy = Site("berlin", "berlin.csv", 60.0, "state", "budget.jsonl", kit="kit" if signed else None).policy
    policy.check_federation(sites)
    policy.check(made)
    policy.check_sites(made, sites)
    with pytest.raises(BudgetError, match=f"colluders must be at least {colluders}"):
        policy.check_sites(replace(made, colluders=colluders - 1), sites)
    with pytest.raises(BudgetError, match="threshold must be at least"):
        policy.check_sites(replace(made, threshold=safe_threshold(sites, colluders) - 1), sites)
    with pytest.raises(BudgetError, match="sites must be at least 2, got 1"):
        policy.check_sites(made, 1)


def test_a_site_is_shown_the_noise_that_every_sum_holds():
    policy = Policy(PrivacyUnit.POINT, 1.0)
    assert policy.floor(5) == (
        "of 5 sites at least 4 must answer and 1 may side with the server: every sum holds the noise of at least 3 honest sites"
    )
    assert policy.floor(2).endswith("the noise of at least 1 honest site")
    with pytest.raises(FedDPError, match="sites must be at least 3, got a federation of 2"):
        Policy(PrivacyUnit.POINT, 1.0, min_sites=3).check_federation(2)
    with pytest.raises(FedDPError, match="threshold must be at most the 5 sites of the federation, got 6"):
        Policy(PrivacyUnit.POINT, 1.0, threshold=6).check_federation(5)


@pytest.mark.parametrize("sites", [2, 3, 5, pytest.param(31, marks=pytest.mark.slow)])
def test_servers_and_sites_with_default_options_run(tmp_path, sites):
    rng = np.random.default_rng(0)
    clients = [rng.standard_normal((20, 2)) for _ in range(sites)]
    keys = {f"site{i:02d}": identity(f"site{i:02d}") for i in range(sites)}
    roster = {name: key.public_key() for name, key in keys.items()}
    site = lambda name: {"identity": keys[name], "roster": roster, "confirmed": True, "colluders": None, "min_sites": 2}  # noqa: E731
    federation, transport = loopback.federation(clients, tmp_path, site=site, roster=roster)
    prepared = prepare(Settings(2, 1.0, lloyd_steps=0), rng.standard_normal((20, 2)), sites)
    found = run(federation, prepared)
    assert found.privacy.secure
    assert federation.threshold == default_threshold(sites, assumed_colluders(sites))
    assert any(kind == "confirm" for _, kind, _ in transport.sent)
    assert len(Odometer(tmp_path / "site00.jsonl").entries()) == 1


@pytest.mark.parametrize("sites", [31, 100])
def test_a_site_of_a_large_federation_agrees(tmp_path, sites):
    liar = Liar(tmp_path, sites, sites - 1, colluders=None, min_sites=2)
    asked = terms(threshold=default_threshold(sites, assumed_colluders(sites)), colluders=assumed_colluders(sites))
    meeting = Meeting(liar, asked, bytes(32))
    meeting.agree(liar.names[:1])
    assert meeting.adverts, meeting.refusals
