"""What a watcher of the network sees besides the releases: how many messages, how long, and when. None of it may tell of the data."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy import stats

from feddp_kmeans.algorithm.clustering import run
from feddp_kmeans.algorithm.prepare import prepare
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.participant import PUBLIC
from feddp_kmeans.network.terms import Trust
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.network import loopback
from tests.network.talk import Talk

RNG = np.random.default_rng(8)
SERVER = RNG.standard_normal((30, 3))
ORDINARY = RNG.standard_normal((40, 3))
DATA = {
    "dense": ORDINARY,
    "all zero": np.zeros((40, 3)),
    "empty": np.empty((0, 3)),
    "many points": np.resize(ORDINARY, (3000, 3)),
    "some NaN and infinities": np.where(RNG.random((40, 3)) < 0.3, np.nan, np.where(RNG.random((40, 3)) < 0.2, np.inf, ORDINARY)),
    "huge": ORDINARY * 1e300,
}
FALSE_ALARM = 1e-6
PAIRS = 24
"""Pairs of timings: two neighbours that differ in all of them are found (2^-23), and those that differ in most of them are not."""


PAIRED = {("paper", "point", Trust.AGGREGATOR), ("refined", "client", Trust.SECURE_SUM)}
"""Each method, unit and kind of trust once; ``make thorough`` has all combinations."""


@pytest.mark.parametrize(
    ("method", "unit", "trust"),
    [
        pytest.param(*case, marks=() if case in PAIRED else pytest.mark.slow)
        for case in itertools.product(("paper", "refined"), ("point", "client"), Trust)
    ],
)
def test_replies_have_the_same_bytes_in_number_whatever_the_data(tmp_path, trust, unit, method):
    more = {"client_size": 40} if unit == "client" and method == "refined" else {}
    epsilon = 1e3 if method == "refined" else 2.0
    settings = Settings(2, epsilon, privacy_unit=unit, method=method, lloyd_steps=0, noise="gaussian", **more)
    prepared = prepare(settings, SERVER, 3)
    seen = {}
    for name, points in DATA.items():
        folder = tmp_path / name
        folder.mkdir()
        clients = [ORDINARY, ORDINARY + 1, points]
        federation, transport = loopback.federation(clients, folder, trust=trust, site={"unit": PrivacyUnit(unit), "epsilon": 2e3})
        run(federation, prepared)
        assert not federation.sites.missing
        asked = [question(request) for who, _, request in transport.sent if who == "site02"]
        seen[name] = list(zip(asked, [length for who, _, length in transport.lengths if who == "site02"], strict=True))
    assert len(seen["dense"]) >= 5
    lengths = {}
    for name, answers in seen.items():
        assert all(lengths.setdefault(asked, length) == length for asked, length in answers), name
        # What the refined method asks next follows from what was released.
        assert method == "refined" or answers == seen["dense"], name


def question(request):
    """Return what a request asks for: all that the length of its answer may depend on."""
    asked = unpack(request)
    shapes = sorted((name, value is None, np.shape(value)) for name, value in asked.fields.items() if name.startswith(PUBLIC))
    digits = [len(str(asked.fields.get(name))) for name in ("turn", "round", "number", "times")]
    return asked.kind, asked.fields.get("release"), asked.fields.get("statistic"), tuple(shapes), tuple(digits)


def test_a_failure_is_told_in_the_same_bytes_whatever_the_data(tmp_path):
    lengths = set()
    for number, error in enumerate((ValueError("patient 4711"), MemoryError("x" * 999), KeyError("Ada"))):
        (tmp_path / str(number)).mkdir()
        talk = Talk(tmp_path / str(number))
        talk.agree()

        def broken(error=error):
            raise error

        talk.client._data = broken
        reply = talk.query()
        assert reply.kind == "failed"
        lengths.add(reply.fields["reason"])
    assert len(lengths) == 1


def tells_apart(one, two):
    """Whether pairs of timings differ in one direction, with a false alarm of FALSE_ALARM."""
    return stats.wilcoxon(one, two).pvalue < FALSE_ALARM


def test_the_timing_test_can_fail():
    rng = np.random.default_rng(0)
    busy = rng.lognormal(size=PAIRS)
    noisy = busy + 0.01 * rng.lognormal(size=(2, PAIRS))
    assert not tells_apart(*noisy)
    assert tells_apart(noisy[0], noisy[1] + 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["a point less", "a point at 1e300", "a NaN"])
def test_an_answer_does_not_take_longer_for_one_of_two_neighbours(tmp_path, change):
    """Each pair has clients of its own, in random order, so that neither memory nor other work on the machine favours one."""
    rng = np.random.default_rng(9)
    points = rng.standard_normal((30_000, 3))
    other = points[1:] if change == "a point less" else points.copy()
    if change != "a point less":
        other[17] = 1e300 if change == "a point at 1e300" else math.nan
    plan = prepare(Settings(2, 1.0, lloyd_steps=8, method="paper", noise="gaussian"), SERVER, 3).plan
    where = {PUBLIC + "center": np.zeros(3), PUBLIC + "radius": 9.0, PUBLIC + "centers": 1000.0 * np.arange(6).reshape(2, 3)}

    def least_time(held, folder):
        folder.mkdir()
        talk = Talk(folder, plan=plan, trust=Trust.AGGREGATOR, epsilon=math.inf)
        talk.client = loopback.participant("ward", held.copy(), folder, **talk.site)
        talk.agree()
        taken = []
        for number in range(8):
            start = time.perf_counter()
            reply = talk.say("sum", release="lloyd sums", number=number, statistic="cluster-sums", **where)
            taken.append(time.perf_counter() - start)
            assert reply.kind == "summed", reply
        return min(taken)

    times = np.empty((2, PAIRS))
    for pair in range(PAIRS):
        for which in rng.permutation(2):
            times[which, pair] = least_time((points, other)[which], tmp_path / f"{pair}-{which}")
    assert not tells_apart(*times)


def test_the_number_of_a_clients_points_is_in_no_reply_but_the_sums(tmp_path):
    federation, transport = loopback.federation([ORDINARY, ORDINARY, DATA["many points"]], tmp_path, trust=Trust.SECURE_SUM)
    replies = []
    handle = transport.participants[3].handle
    transport.participants[3].handle = lambda request: (replies.append(handle(request)), replies[-1])[1]
    run(federation, prepare(Settings(2, 1.0, lloyd_steps=0), SERVER, 3))
    plain = [{k: v for k, v in unpack(reply).fields.items() if not isinstance(v, np.ndarray)} for reply in replies]
    assert not any("3000" in str({k: v for k, v in fields.items() if isinstance(v, int)}) for fields in plain)
