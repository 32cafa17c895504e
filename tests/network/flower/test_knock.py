"""Requests to this machine's own servers."""

from flwr.supercore.runtime import RuntimeHttpClient

from feddp_kmeans.network.flower.knock import knock


def test_a_client_sends_the_secret_and_takes_no_proxy_and_no_detour(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://proxy.example.org:3128")
    client = RuntimeHttpClient.from_server_address("127.0.0.1:1", True, None, [])
    http = client._client
    assert http._mounts
    knock(client, "abc")
    assert http._transport_for_url(http.build_request("GET", "http://127.0.0.1:1/").url) is http._transport
    assert http.build_request("POST", "http://127.0.0.1:1/").headers["authorization"] == "Bearer abc"
    assert not http.follow_redirects
    client.close()
