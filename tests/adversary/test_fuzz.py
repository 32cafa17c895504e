"""A hostile server asks for anything: what is accepted moves by at most its sensitivity, the rest is refused, whatever the data."""

from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.statistics.engine import Engine, using
from tests.adversary.exactness import assert_bounded, assert_one_unit_moves_what_is_stated
from tests.adversary.generator import NAMES, TIMES, hostile, world
from tests.adversary.server import Server, parsed

LEAST_ACCEPTED = 0.2
"""Part of the tries with each statistic that must be accepted: a fuzz that is always refused tests nothing."""

HUGE = 1 << 18
"""Values from which a query takes long: only some of these are computed."""


def fuzz(seeds, engine=Engine.NUMPY):
    accepted, tried = Counter(), Counter()
    with using(engine):
        for seed in seeds:
            rng, name = np.random.default_rng(seed), NAMES[seed % len(NAMES)]
            where = world(rng)
            query = parsed(name, hostile(name, rng, where), where.ball.dimension)
            tried[name] += 1
            if query is not None:
                accepted[name] += 1
                if query.size < HUGE or rng.random() < 0.03:
                    assert_one_unit_moves_what_is_stated(query, where, rng)
    assert set(tried) == set(NAMES)
    assert all(accepted[name] >= LEAST_ACCEPTED * tried[name] for name in NAMES if tried[name] >= 100), (accepted, tried)


def arrived(public):
    """What of the arguments can travel, as it arrives."""
    fields = {}
    for key, value in public.items():
        with suppress(FedDPError, TypeError, ValueError):
            fields |= unpack(pack("sum", **{key: value})).fields
    return fields


def fuzz_federations(folder, seeds, trust, parties, questions):
    accepted = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        where, unit = world(rng), [PrivacyUnit.POINT, PrivacyUnit.CLIENT][seed % 2]
        (folder / str(seed)).mkdir()
        server = Server(folder / str(seed), where, unit, trust, parties, questions)
        names = [name for name in NAMES if REGISTRY[name].unit is unit]
        for _ in range(questions):
            name = str(rng.choice(names))
            public = arrived(hostile(name, rng, where))
            times = 1 if rng.random() < 0.9 else TIMES[rng.integers(len(TIMES))]
            query, (everyone, without) = server.ask(name, public, times)
            if query is None or type(times) is not int or times != 1:
                assert isinstance(everyone, str), (name, public)
                assert everyone == without
            else:
                accepted += 1
                assert not isinstance(everyone, str), (name, public, everyone)
                assert_bounded(query, everyone - without)
    assert accepted >= LEAST_ACCEPTED * len(seeds) * questions


def test_a_hostile_query_is_refused_or_moves_by_what_it_states():
    fuzz(range(1000))


def test_a_hostile_server_of_plain_sums(tmp_path):
    fuzz_federations(tmp_path, range(8), Trust.AGGREGATOR, 1, 20)


def test_a_hostile_server_of_masked_sums(tmp_path):
    fuzz_federations(tmp_path, range(4), Trust.SECURE_SUM, 3, 5)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_fifty_thousand_hostile_queries(block):
    fuzz(range(6_000 * (block + 1), 6_000 * (block + 2)))


@pytest.mark.slow
def test_thousands_of_hostile_queries_to_compiled_kernels():
    fuzz(range(200_000, 202_000), Engine.COMPILED)


@pytest.mark.slow
def test_thousands_of_hostile_queries_for_plain_sums(tmp_path):
    fuzz_federations(tmp_path, range(100, 160), Trust.AGGREGATOR, 1, 50)


@pytest.mark.slow
def test_hundreds_of_hostile_queries_for_masked_sums(tmp_path):
    fuzz_federations(tmp_path, range(300, 320), Trust.SECURE_SUM, 3, 10)
