"""Receipts of sites: readable, signed, never behind the answers, and in agreement with the server's result."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("flwr")

from feddp_kmeans import FedDPError, _files
from feddp_kmeans.algorithm.settings import Settings
from feddp_kmeans.network import participant as participant_module
from feddp_kmeans.network.deployment.keys import write_site_key
from feddp_kmeans.network.deployment.kit import make_federation
from feddp_kmeans.network.deployment.run_request import RunRequest, carry_out, opened
from feddp_kmeans.network.deployment.site import Site
from feddp_kmeans.network.receipts import authority_fingerprint, check_signature, read_receipt, receipt_lines
from feddp_kmeans.network.remote import RemoteAdder
from feddp_kmeans.network.secure_sum.identity import load_public, new_identity
from feddp_kmeans.network.wire import unpack
from feddp_kmeans.privacy.odometer import Odometer
from tests.network.loopback import Loopback

NAMES = ("aachen", "berlin", "celle", "dresden", "erfurt")


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(_files.os, "fsync", lambda _: None)


class Hospitals:
    """Five sites with keys, their kit, and a run that the server asks for."""

    def __init__(self, folder):
        self.folder = folder
        self.federation = make_federation(folder / "federation", ["127.0.0.1"], 9443)
        kit = self.federation.kit.folder
        rng = np.random.default_rng(0)
        self.sites = []
        for name in NAMES:
            key, public = write_site_key(folder, name)
            public.rename(kit / "sites" / public.name)
            np.save(folder / f"{name}.npy", 0.2 + 0.6 * rng.integers(2, size=(2000, 2)) + 0.02 * rng.standard_normal((2000, 2)))
            places = str(folder / f"{name}.npy"), 9.0, str(folder / name), str(folder / f"{name}.jsonl")
            self.sites.append(Site(name, *places, key=str(key), kit=str(kit)))
        settings = Settings(2, 5.0, box=(0, 1), method="paper", lloyd_steps=0)
        np.save(folder / "public.npy", rng.random((30, 2)))
        more = {"server": str(folder / "public.npy"), "kit": str(kit), "min_sites": 4}
        self.request = RunRequest("run1", settings, str(folder / "run"), "feddp serve", **more)

    def nodes(self, fault=lambda *_: None):
        return Loopback((site.participant() for site in self.sites), fault)

    def serve(self, nodes):
        carry_out(nodes, opened(self.request))
        return json.loads((self.folder / "run" / "result.json").read_text())

    def receipt(self, name):
        return read_receipt(self.folder / name / "receipts" / "run1.json")

    def key(self, name):
        return load_public(self.federation.kit.folder / "sites" / f"{name}.pub")


@pytest.fixture
def hospitals(tmp_path):
    return Hospitals(tmp_path)


def check_agreement(hospitals, result):
    """Every number of the receipts is that of the result, and of the odometer."""
    in_result = {name: [] for name in NAMES}
    for row in result["attendance"]:
        for name in set(NAMES) - set(row["missing"]):
            in_result[name].append(tuple(row[key] for key in ("release", "number", "times", "statistic", "query")))
    for name in NAMES:
        told = hospitals.receipt(name)
        check_signature(told, hospitals.key(name))
        rows = [tuple(row[key] for key in ("release", "number", "times", "statistic", "query")) for row in told["answered"]]
        assert sorted(rows) == sorted(in_result[name])
        assert {row["answer"] for row in told["answered"]} == {"masked, opened"}
        assert (told["run"], told["spent"]["epsilon"], told["spent"]["delta"]) == (result["run"], result["epsilon"], result["delta"])
        assert told["spent"]["privacy_unit"] == result["privacy_unit"]
        for key in ("threshold", "colluders", "confirmed", "trust", "epsilon", "delta"):
            assert told["terms"][key] == result[key]
        planned = [(row["release"], row["times"], row["noise_multiplier"]) for row in told["terms"]["releases"]]
        assert planned == [(row["release"], row["times"], row["noise_multiplier"]) for row in result["plan"]["releases"]]
        (entry,) = Odometer(hospitals.folder / f"{name}.jsonl").entries()
        assert (entry.run, entry.plan.epsilon) == (told["run"], told["spent"]["epsilon"])
    made = {row["release"]: row["times"] for row in result["ledger"]}
    for release, times in made.items():
        assert sum(row["times"] for row in result["attendance"] if row["release"] == release) == times


def test_the_receipts_of_five_sites_and_the_result_agree_on_every_number(hospitals):
    result = hospitals.serve(hospitals.nodes())
    assert result["participants"] == list(NAMES)
    assert not any(row["missing"] for row in result["attendance"])
    check_agreement(hospitals, result)


def test_they_agree_after_a_restart_of_the_server_and_with_a_site_missing_for_a_release(hospitals, monkeypatch):
    whole, opened_so_far = RemoteAdder._finished, []

    def killed(self, *given):
        opened_so_far.append(1)
        if len(opened_so_far) == 2:
            raise KeyboardInterrupt  # after the journal was written, before the sum was opened
        return whole(self, *given)

    monkeypatch.setattr(RemoteAdder, "_finished", killed)
    nodes = hospitals.nodes()
    with pytest.raises(KeyboardInterrupt):
        hospitals.serve(nodes)
    masked = []

    def fault(name, kind, _):
        masked.extend([name] * (kind == "mask"))
        return "before" if (name, kind) == ("celle", "mask") and masked.count("celle") == 1 else None

    nodes.fault = fault
    result = hospitals.serve(nodes)
    assert [row["missing"] for row in result["attendance"]] == [{}, {}, {"celle": "timed out"}, {}]
    check_agreement(hospitals, result)
    assert {hospitals.receipt(name)["sessions"] for name in NAMES} == {2}


def test_a_receipt_is_on_disk_before_its_answer_leaves(hospitals, monkeypatch):
    """A site whose receipt cannot be written sends no answer; the next receipt has that release too."""
    nodes = hospitals.nodes()
    whole, hits = participant_module.Receipts.write, []

    def killed(self, terms, state):
        if state.opened and self._site == "berlin" and not hits:
            hits.append(1)
            raise OSError(28, "No space left on device")
        whole(self, terms, state)

    monkeypatch.setattr(participant_module.Receipts, "write", killed)
    sent, honest = [], nodes.exchange

    def exchange(requests, timeout, patient):
        replies = honest(requests, timeout, patient)
        sent.extend((unpack(requests[node]).kind, unpack(replies[node]).kind) for node in requests if node == 2)
        return replies

    nodes.exchange = exchange
    result = hospitals.serve(nodes)
    assert [reply for request, reply in sent if request == "unmask"] == ["failed", "unmasked", "unmasked", "unmasked"]
    assert "berlin" in result["participants"]  # its masked sum was in, and the others opened it
    check_agreement(hospitals, result)


def test_a_changed_or_foreign_receipt_is_refused(hospitals, tmp_path):
    hospitals.serve(hospitals.nodes())
    told = hospitals.receipt("berlin")
    check_signature(told, hospitals.key("berlin"))
    for changed in (
        told | {"spent": told["spent"] | {"epsilon": 0.5}},
        told | {"answered": told["answered"][:-1]},
        told | {"site": "celle"},
        told | {"more": 1},
        told | {"signature": told["signature"] | {"value": "00"}},
        told | {"signature": told["signature"] | {"value": "no hex"}},
    ):
        with pytest.raises(FedDPError, match="must be signed with this key, got another key or a receipt that was changed"):
            check_signature(changed, hospitals.key("berlin"))
    with pytest.raises(FedDPError, match="must be signed with this key"):
        check_signature(told, new_identity().public_key())
    with pytest.raises(FedDPError, match="must be signed, got one of a site without a key"):
        check_signature(told | {"signature": None}, hospitals.key("berlin"))


@pytest.mark.parametrize(("lost", "remarks"), [("mask", True), ("describe", False)])
def test_centers_that_mix_releases_of_different_sites_have_a_remark(hospitals, lost, remarks):
    """Method 'paper' releases sums and counts one after the other: a site that is in one of them only spoils their quotient."""
    asked = []

    def fault(name, kind, turn):
        if name != "celle" or kind != lost:
            return None
        asked.append(turn)
        return "before" if lost == "describe" or len(asked) == 3 else None

    told = hospitals.serve(hospitals.nodes(fault))["remarks"]
    assert any(remark.startswith("celle was missing in some releases: sums and counts") for remark in told) == remarks


def test_a_receipt_names_the_server_and_the_roster_and_no_value_of_the_data(hospitals):
    hospitals.serve(hospitals.nodes())
    kit, told = hospitals.federation.kit, hospitals.receipt("celle")
    assert told["server"] == authority_fingerprint(kit.authority)
    assert told["roster"] == kit.roster_fingerprint
    path = hospitals.folder / "celle" / "receipts" / "run1.json"
    assert path.stat().st_mode & 0o777 == 0o600
    lines = "\n".join(receipt_lines(told))
    assert "Receipt of site celle for run run1" in lines
    assert "spent: epsilon 5.0, delta 1e-06, protects each point" in lines
    assert "answers: 4, which are 4 releases of the plan" in lines


def test_what_a_receipt_says_does_not_depend_on_the_data(hospitals):
    """With the same public arguments two sites with other data have the same receipt, but for their names and signatures."""
    hospitals.serve(hospitals.nodes())
    one, other = (hospitals.receipt(name) for name in ("aachen", "berlin"))
    for told in (one, other):
        for name in ("site", "signature", "agreed", "written"):
            del told[name]
    assert one == other


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"format": 2}', '{"format": 1, "site": 3}', '{"format":1,"site":"a","run":"r","spent":{},"terms":{},"sessions":1}'],
)
def test_what_is_no_receipt_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "run1.json").write_text(content)
    with pytest.raises(FedDPError, match=r"run1\.json") as refused:
        read_receipt(tmp_path / "run1.json")
    assert "\n" not in str(refused.value)


def test_a_site_without_a_key_has_a_receipt_without_a_signature(hospitals, tmp_path):
    hospitals.sites = [replace(site, key=None, kit=None) for site in hospitals.sites]
    hospitals.request = replace(hospitals.request, kit=None)
    hospitals.serve(hospitals.nodes())
    told = hospitals.receipt("berlin")
    assert (told["signature"], told["server"], told["roster"]) == (None, None, None)
    assert "no fingerprint, a trial without keys" in "\n".join(receipt_lines(told))


def test_a_file_that_is_no_certificate_is_refused(tmp_path):
    (tmp_path / "ca.crt").write_text("no certificate")
    with pytest.raises(FedDPError, match=r"ca\.crt must be the certificate of the federation's authority, got something else"):
        authority_fingerprint(tmp_path / "ca.crt")
