"""A site's connection to a real SuperLink: admitted, asked, answered, left; and what a refusal means."""

import httpx
import pytest
from flwr.proto.message_pb2 import PushObjectRequest, PushObjectResponse
from flwr.supercore.error import ApiErrorCode

from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.serve import superlink
from feddp_kmeans.network.flower import fleet
from feddp_kmeans.network.flower.bundles import SITES
from feddp_kmeans.network.flower.fleet import Fleet, Refusal, refusal_of


def answer(status, **content):
    return httpx.Response(status, json=content, request=httpx.Request("POST", "http://127.0.0.1:1/"))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (answer(412, code=2004, detail="no", extra=fleet.UNKNOWN_KEY), Refusal.UNKNOWN),
        (answer(412, code=2004, detail="no"), Refusal.IN_USE),
        (answer(412, code=2004, detail="no", extra="something new"), Refusal.IN_USE),
        (answer(400, code=1001, detail="other versions"), Refusal.VERSION),
        (answer(401, detail="Invalid SuperNode authentication"), Refusal.OTHER),
        (httpx.Response(502, text="<html>"), Refusal.OTHER),
        (httpx.Response(502, text="[1]"), Refusal.OTHER),
        (httpx.Response(502, content=b"\xff\xfe\x00"), Refusal.OTHER),
    ],
)
def test_a_refusal_is_understood_whatever_it_is(given, meant):
    assert refusal_of(given) is meant


def test_the_codes_are_those_of_flwr():
    assert fleet.NOT_ADMITTED == ApiErrorCode.FLEET_NODE_ACTIVATION_FAILED
    assert fleet.OTHER_VERSION == ApiErrorCode.RUNTIME_VERSION_INCOMPATIBLE


def test_the_headers_are_those_of_a_supernode():
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
    from flwr.supercore.primitives.asymmetric import generate_key_pairs
    from flwr.supercore.protobuf.client import ProtobufRequestContext
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    private, public = generate_key_pairs()
    ours, theirs = (httpx.Request("POST", "http://127.0.0.1:1/") for _ in range(2))
    fleet._Signed(private).intercept(ProtobufRequestContext("m", None, ours), lambda _: None)
    context = ProtobufRequestContext("m", None, theirs)
    done = httpx.Response(200, request=theirs)
    signing = NodeAuthHttpInterceptor(private, public)
    RuntimeVersionHttpInterceptor("SuperNode").intercept(context, lambda given: signing.intercept(given, lambda _: done))
    assert set(ours.headers) == set(theirs.headers)
    changing = {"flwr-timestamp", "flwr-signature"}
    assert {name: ours.headers[name] for name in set(ours.headers) - changing} == {
        name: theirs.headers[name] for name in set(theirs.headers) - changing
    }


def test_a_site_enters_looks_for_messages_and_leaves(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    port = free_port()
    with superlink(port):
        site, thief = (Fleet(f"127.0.0.1:{port}", None, None) for _ in range(2))
        site.enter()
        assert not site.answer_next(lambda message: message)
        stolen = fleet.ActivateNodeRequest(public_key=site._key, heartbeat_interval=30)
        with pytest.raises(httpx.HTTPStatusError) as refused:
            thief._client.ActivateNode(stolen)
        assert refused.value.response.status_code == 401  # It is signed by another key.
        thief.close()
        site.close()
    late = Fleet(f"127.0.0.1:{port}", None, None)
    with pytest.raises(httpx.TransportError):
        late.enter()
    late.close()


def test_a_bundle_of_another_site_or_of_nobody_is_refused():
    port = free_port()
    with superlink(port):
        site, thief, nobody = (Fleet(f"127.0.0.1:{port}", None, None) for _ in range(3))
        site.enter()
        thief.enter()
        asked = PushObjectRequest(node=site._node, run_id=1, object_id="a", object_content=b"1")
        assert thief._answers([asked]) == [PushObjectResponse(stored=False)]
        with pytest.raises(httpx.HTTPStatusError) as refused:
            nobody._answers([asked])
        assert refused.value.response.status_code == 401
        assert httpx.post(f"http://127.0.0.1:{port}{SITES}", content=b"x" * 100, trust_env=False).status_code == 401
        for one in (site, thief, nobody):
            one.close()


def test_a_request_is_made_again_while_there_is_patience(monkeypatch):
    clock, slept = [0.0], []
    monkeypatch.setattr(fleet.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(fleet.time, "sleep", lambda pause: (slept.append(pause), clock.__setitem__(0, clock[0] + pause)))
    retries, tries = fleet._Retries(), []

    def fails():
        tries.append(1)
        raise httpx.ConnectError("away")

    with pytest.raises(httpx.ConnectError):
        retries.invoke(fails)
    assert len(tries) == 1
    retries.patience = 60.0
    with pytest.raises(httpx.ConnectError):
        retries.invoke(fails)
    assert 50 < sum(slept) <= 60
    assert retries.invoke(lambda: 5) == 5
