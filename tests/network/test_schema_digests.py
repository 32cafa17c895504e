"""Digests of schemas: sites that read their tables otherwise are left out by the server, which names the columns."""

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.network.remote import RemoteFederation
from feddp_kmeans.network.schema_digests import differing, read_digests, schema_digests
from feddp_kmeans.network.wire import pack, unpack
from feddp_kmeans.tables.columns import CategoryColumn, NumberColumn, OpenColumn
from feddp_kmeans.tables.schema import Schema
from tests.network.loopback import Loopback

STATED = {"ranges": ("age=0:120",), "categories": ("sex=f,m",)}


def site(folder, name, **stated):
    rng = np.random.default_rng(len(name))
    rows = [(30 + 40 * old, "fm"[old]) for old in rng.integers(2, size=500).tolist()]
    (folder / f"{name}.csv").write_text("age,sex\n" + "".join(f"{age},{sex}\n" for age, sex in rows))
    places = str(folder / f"{name}.csv"), 20.0, str(folder / name), str(folder / f"{name}.jsonl")
    return Site(name, *places, **STATED | stated).participant()


def request(folder, **more):
    return RunRequest("run1", Settings(2, 10.0), str(folder / "run"), "feddp serve", min_sites=3, **STATED | more)


@pytest.mark.parametrize(
    ("stated", "named"),
    [({"ranges": ("age=0:100",)}, "'age'"), ({"ranges": ("age=0:120:log",)}, "'age'"), ({"ranges": ()}, "'age'")],
)
def test_a_site_with_another_range_is_left_out_and_the_column_is_named(tmp_path, stated, named):
    nodes = Loopback([site(tmp_path, "a"), site(tmp_path, "bb"), site(tmp_path, "ccc", **stated)])
    with pytest.raises(FedDPError) as refused:
        carry_out(nodes, opened(request(tmp_path)))
    told = f"ccc is left out: its schema states other kinds, ranges, categories or weights of {named}."
    assert str(refused.value) == f"sites must be at least 3, got 2 whose data can be used. {told}"
    assert not (tmp_path / "run" / "releases").exists()
    assert not (tmp_path / "a.jsonl").exists()  # nothing was booked


def test_a_weight_is_part_of_a_schema(tmp_path):
    for name, weight in (("one", 1.0), ("two", 2.0)):
        Schema((NumberColumn("age", 0, 120, weight=weight), CategoryColumn("sex", ("f", "m")))).write(tmp_path / f"{name}.json")
    nothing = {"ranges": (), "categories": ()}
    same, other = ({"schema": str(tmp_path / f"{name}.json")} | nothing for name in ("one", "two"))
    nodes = Loopback([site(tmp_path, "a", **same), site(tmp_path, "bb", **same), site(tmp_path, "ccc", **other)])
    with pytest.raises(FedDPError, match=r"ccc is left out: its schema states other .* of 'age'"):
        carry_out(nodes, opened(request(tmp_path, **same)))


def test_without_a_server_s_schema_the_most_frequent_one_counts(tmp_path):
    nodes = Loopback([site(tmp_path, "a"), site(tmp_path, "bb", ranges=("age=0:99",)), site(tmp_path, "ccc")])
    federation = RemoteFederation(nodes).connect()
    assert federation.sites.names == ["a", "ccc"]


def test_plain_numbers_are_columns_without_a_range():
    assert schema_digests(None) == {}
    assert read_digests({}, ("a", "b")) == schema_digests(Schema((OpenColumn("a"), OpenColumn("b"))))


def test_a_schema_in_short_and_in_full_has_one_digest(tmp_path):
    made = Schema((NumberColumn("age", 0, 120), CategoryColumn("sex", ("f", "m"))))
    for name in ("schema.toml", "schema.json"):
        made.write(tmp_path / name)
        assert schema_digests(Schema.read(tmp_path / name)) == schema_digests(made)


def test_only_digests_are_sent(tmp_path):
    reply = site(tmp_path, "a").handle(pack("describe", nonce=bytes(16)))
    told = unpack(reply).fields["schema"]
    assert told == schema_digests(Schema((NumberColumn("age", 0, 120), CategoryColumn("sex", ("f", "m")))))
    assert all(len(digest) == 64 for digest in told.values())


@pytest.mark.parametrize("given", [{"a": 1}, {"a": "0" * 63}, {"a": "Z" * 64}, {"a": ["0" * 64]}])
def test_what_is_no_digest_is_refused(given):
    with pytest.raises(FedDPError, match="the schema of a site must be a digest for each column, got something else"):
        read_digests(given, ("a",))


def test_a_site_that_states_no_schema_is_left_out(tmp_path):
    nodes = Loopback([site(tmp_path, "a"), site(tmp_path, "bb"), site(tmp_path, "ccc")])
    honest = nodes.exchange

    def exchange(requests, timeout, patient):
        replies = honest(requests, timeout, patient)
        told = unpack(replies[3])
        replies[3] = pack(told.kind, **{name: value for name, value in told.fields.items() if name != "schema"})
        return replies

    nodes.exchange = exchange
    with pytest.raises(FedDPError, match="node 3 is left out: field 'schema' of a 'described' message must be dict, got NoneType"):
        carry_out(nodes, opened(request(tmp_path)))


def test_many_columns_and_long_names_fit_on_one_line():
    own = {f"column {i:02d}" + "x" * 500 + "\n": "0" * 64 for i in range(20)}
    told = differing(own, {})
    assert told.endswith(" and 15 more")
    assert "\n" not in told
    assert len(told) < 600
