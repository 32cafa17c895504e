"""A site that joins: admitted or told why not, again and again, and alone on its state folder."""

import contextlib
import io
import shutil

import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment import join as joining
from feddp_kmeans.network.deployment.children import free_port
from feddp_kmeans.network.deployment.join import Connection, alone
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import make_federation
from feddp_kmeans.network.deployment.serve import superlink
from tests.network.conftest import lines_of


@pytest.mark.parametrize("address", ["", "server", ":9443", "server:", "server:x", "server:0", "server:65536", "server:-1"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(FedDPError, match="the server's address must be host:port, got "):
        Connection("berlin", address)


def test_a_key_is_admitted_once_and_a_stranger_is_told_what_to_do(tmp_path):
    federation = make_federation(tmp_path / "federation", ["127.0.0.1"], free_port())
    key, public = write_site_key(tmp_path, "berlin")
    shutil.copy(public, federation.kit.folder / "sites")
    kit = federation.kit
    berlin = Connection("berlin", kit.address, kit.authority, key)
    stranger = Connection("zwickau", kit.address, kit.authority, write_site_key(tmp_path, "zwickau")[0])
    with superlink(kit.port, federation) as (_, control):
        for name, known in kit.sites().items():
            control.register(name, known)
        berlin.check()
        first = berlin.entered()
        with pytest.raises(FedDPError, match=r"another process takes part with this site's key, or .* \(this takes a minute\)\.$"):
            berlin.check()
        with pytest.raises(FedDPError, match=r"^the server does not know this site's key: its operator has to put zwickau\.pub into"):
            stranger.check()
        first.close()
        berlin.check()  # Whoever leaves can come back at once.
    with pytest.raises(FedDPError, match=r"nothing listens at .*: is the server running\.$"):
        berlin.check()


def test_whoever_asks_is_told_whether_the_site_is_connected(monkeypatch):
    told = []
    monkeypatch.setattr(Connection, "entered", lambda _: io.BytesIO())
    monkeypatch.setattr(joining, "execute", lambda _fleet, _handle: told.append("at work") or "it ended")
    monkeypatch.setattr(joining.time, "sleep", lambda _: (_ for _ in ()).throw(EnoughError))

    @contextlib.contextmanager
    def connected():
        told.append("in")
        yield
        told.append("out")

    with pytest.raises(EnoughError):
        joining.join(Connection("berlin", "127.0.0.1:9"), bytes, connected)
    assert told == ["in", "at work", "out"]


class EnoughError(Exception):
    """Ends a loop that has no end."""


def test_each_try_has_its_reason_and_pauses_grow(monkeypatch, caplog):
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 8:
            raise EnoughError

    monkeypatch.setattr(joining.time, "sleep", sleep)
    log = lines_of(caplog, "deployment.join")
    port = free_port()
    with pytest.raises(EnoughError):
        joining.join(Connection("berlin", f"127.0.0.1:{port}"), bytes)
    assert naps == [2, 4, 8, 16, 32, 60, 60, 60]
    first, second, *_ = log()
    assert first == f"connecting to 127.0.0.1:{port} ..."
    assert second == f"nothing listens at 127.0.0.1:{port}: is the server running; trying again in 2 s."


def test_a_state_folder_is_for_one_at_a_time(tmp_path):
    for name in ("state", "other"):
        (tmp_path / name).mkdir()
    with alone(tmp_path / "state"):
        with pytest.raises(FedDPError, match="the state folder must be used by one feddp join at a time, got"), alone(tmp_path / "state"):
            pass
        with alone(tmp_path / "other"):
            pass
    with alone(tmp_path / "state"):
        pass
