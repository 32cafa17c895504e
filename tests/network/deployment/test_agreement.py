"""Which roster a site accepts: the attacks are on the kit that it is given."""

import json
import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment import keys
from feddp_kmeans.network.deployment.agreement import JOINED, needed_signatures
from feddp_kmeans.network.deployment.keys import as_text, write_site_key
from feddp_kmeans.network.deployment.kit import make_federation
from feddp_kmeans.network.deployment.signatures import RosterSignature, read_signatures
from feddp_kmeans.network.secure_sum.identity import new_identity, sign
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.privacy.unit import PrivacyUnit
from tests.logs import logged
from tests.network.deployment.federations import SITES, Federation

CHANGED = "the roster must be the one that this site joined"


@pytest.fixture
def federation(tmp_path):
    return Federation(tmp_path)


@pytest.fixture
def later(monkeypatch):
    """Return what lets time pass: signatures have to be later than others, and keys expire."""
    passed, now = [0], time.time
    monkeypatch.setattr(time, "time", lambda: now() + sum(passed))
    return lambda seconds=2: passed.append(seconds)


def test_a_first_roster_that_nobody_signed_is_joined_with_a_warning_that_has_its_words(federation):
    with logged() as lines:
        words = federation.join().words
    assert lines == [
        f"roster {words}: nobody has signed it. Compare its words with the other sites over the phone, and give them with --roster."
    ]
    federation.join()
    assert federation.kit.roster_fingerprint == words


def test_words_that_were_compared_need_no_signature(federation):
    words = federation.kit.roster_fingerprint
    assert federation.join(words.upper().replace("-", " ")).words == words
    other = "-".join(["babab", *words.split("-")[1:]])
    with pytest.raises(FedDPError, match=f"--roster must be the words of the kit's roster, {words}, got '{other}'"):
        federation.join(other)


def test_a_first_roster_with_signatures_needs_enough_of_them_and_ones_own(federation):
    federation.sign("aachen", "celle", "dresden", "erfurt")
    with pytest.raises(
        FedDPError, match=r"signed by 4 of its 5 sites, this one among them, got aachen, .*erfurt; missing: berlin\. Compare"
    ):
        federation.join()
    (federation.kit.folder / "signatures" / "aachen.json").unlink()
    federation.sign("berlin")
    assert federation.join().words == federation.kit.roster_fingerprint
    (federation.kit.folder / "signatures" / "celle.json").unlink()
    shutil.rmtree(federation.folder / "state")
    with pytest.raises(FedDPError, match="got berlin, dresden, erfurt; missing: aachen, celle"):
        federation.join()


@pytest.mark.parametrize(("sites", "colluders", "needed"), [(3, None, 3), (3, 0, 2), (5, None, 4), (5, 0, 3), (5, 2, 4)])
def test_as_many_signatures_are_needed_as_answers_in_a_secure_sum(tmp_path, sites, colluders, needed):
    roster = Federation(tmp_path, SITES[:sites]).kit.roster()
    assert needed_signatures(roster, Policy(PrivacyUnit.POINT, 1.0, colluders=colluders)) == needed


def test_a_swapped_key_is_refused_although_all_else_is_the_same(federation):
    joined = federation.join().words
    federation.admit("celle")
    with pytest.raises(
        FedDPError, match=f"{CHANGED}, {joined}, or be signed later by 4 of its 5 sites, got .*, signed by nobody; missing: a"
    ):
        federation.join()


def test_a_statement_that_was_removed_so_that_a_key_lives_for_ever_is_refused(federation):
    federation.join()
    path = federation.kit.folder / "sites" / "celle.pub"
    path.write_text(" ".join(path.read_text().split()[:2]))
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_a_roster_with_one_site_removed_or_added_is_refused(federation):
    federation.join()
    federation.remove("celle")
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()
    shutil.copy(federation.folder / "celle.pub", federation.kit.folder / "sites")
    federation.join()
    federation.admit("frankfurt")
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_another_address_and_another_authority_are_refused(federation):
    federation.join()
    about = federation.kit.folder / "federation.json"
    before = about.read_text()
    about.write_text(before.replace("server.example.org", "evil.example.org"))
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()
    about.write_text(before)
    ours, other = federation.kit.authority, make_federation(federation.folder / "other", ["server.example.org"], 9443).kit.authority
    for content in (other.read_bytes(), ours.read_bytes() + other.read_bytes()):
        before = ours.read_bytes()
        ours.write_bytes(content)
        with pytest.raises(FedDPError, match=CHANGED):
            federation.join()
        ours.write_bytes(before)
    federation.join()


def test_a_changed_roster_is_accepted_by_its_words_and_then_the_earlier_one_is_not(federation):
    federation.join()
    shutil.copytree(federation.kit.folder, federation.folder / "earlier")
    federation.remove("celle")
    words = federation.kit.roster_fingerprint
    assert federation.join(words).words == words
    federation.join()
    shutil.rmtree(federation.kit.folder)
    shutil.copytree(federation.folder / "earlier", federation.server.kit.folder)
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_a_changed_roster_is_accepted_if_enough_sites_of_the_earlier_one_signed_it(federation, later):
    federation.join()
    federation.remove("celle")
    later()
    federation.sign("aachen", "berlin", "dresden")
    with pytest.raises(FedDPError, match=r"signed by aachen, berlin, dresden; missing: celle, erfurt\."):
        federation.join()
    federation.sign("erfurt")
    assert federation.join().words == federation.kit.roster_fingerprint


def test_signatures_of_sites_that_are_only_in_the_new_roster_do_not_count(federation, later):
    federation.join()
    later()
    for name in SITES:
        if name != "berlin":
            federation.admit(name)
    federation.sign(*SITES)
    with pytest.raises(FedDPError, match="signed by berlin; missing: aachen, celle, dresden, erfurt"):
        federation.join()


def test_an_earlier_roster_that_all_have_signed_is_not_taken_back(federation, later):
    federation.sign(*SITES)
    federation.join()
    shutil.copytree(federation.kit.folder, federation.folder / "earlier")
    later()
    federation.remove("celle")
    federation.sign("aachen", "berlin", "dresden", "erfurt")
    federation.join()
    shutil.rmtree(federation.kit.folder)
    shutil.copytree(federation.folder / "earlier", federation.server.kit.folder)
    with pytest.raises(FedDPError, match=r"got .*, signed by nobody; missing: aachen"):
        federation.join()


def test_signatures_of_another_roster_or_of_another_time_or_by_another_key_do_not_count(federation, later):
    federation.join()
    later()
    federation.sign("aachen", "berlin", "celle", "dresden", "erfurt")
    federation.remove("erfurt")
    with pytest.raises(FedDPError, match="signed by nobody"):
        federation.join()
    roster = federation.kit.roster()
    for name, key, signed in (
        ("aachen", federation.key("celle"), time.time()),
        ("berlin", new_identity(), time.time()),
        ("celle", federation.key("celle"), time.time() + 1e6),
        ("dresden", federation.key("dresden"), -1),
    ):
        made = RosterSignature(name, roster.digest, int(signed))
        content = made.content if signed > 0 else b""
        made = RosterSignature(name, roster.digest, int(signed), sign(key, content))
        (federation.kit.folder / "signatures" / f"{name}.json").write_text(json.dumps(made.to_dict()))
    with pytest.raises(FedDPError, match="signed by nobody"):
        federation.join()


def test_a_date_that_was_changed_breaks_the_signature(federation, later):
    federation.sign(*SITES)
    federation.join()
    for path in (federation.kit.folder / "signatures").iterdir():
        given = json.loads(path.read_text())
        path.write_text(json.dumps(given | {"signed": given["signed"] + 1}))
    assert not [one for one in read_signatures(federation.kit) if one.holds(federation.kit.roster(), federation.kit.roster().sites)]


def test_a_revoked_or_expired_site_cannot_sign(federation, later):
    federation.join()
    later()
    federation.remove("erfurt")
    federation.sign("aachen", "berlin", "celle", "dresden")
    federation.kit.revoke("celle")
    with pytest.raises(FedDPError, match="signed by aachen, berlin, dresden; missing: celle, erfurt"):
        federation.join()


def test_a_key_that_the_earlier_one_vouches_for_is_taken_over_without_a_word(federation):
    federation.join()
    federation.renew("celle")
    federation.renew("aachen")
    federation.join()
    federation.admit("celle")
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_a_renewed_key_is_not_taken_over_along_with_another_change(federation):
    federation.join()
    federation.renew("celle")
    federation.admit("dresden")
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_the_key_before_a_renewal_is_not_taken_back(federation):
    federation.join()
    before = (federation.kit.folder / "sites" / "celle.pub").read_bytes()
    federation.renew("celle")
    federation.join()
    (federation.kit.folder / "sites" / "celle.pub").write_bytes(before)
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_two_renewals_in_between_need_the_words(federation):
    federation.join()
    federation.renew("celle")
    federation.renew("celle")
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()
    federation.join(federation.kit.roster_fingerprint)


def test_a_new_authority_that_the_earlier_one_vouches_for_is_taken_over(federation):
    federation.join()
    federation.server.renew_authority(None)
    both = federation.join().authorities
    assert len(both) == 2
    only = federation.kit.authorities()[0]
    federation.kit.authority.write_text(as_text(only))
    assert federation.join().authorities == both[:1]
    federation.server.renew_authority(None)
    federation.join()


def test_the_server_certificate_does_not_vouch_for_an_authority(federation):
    """Whoever has server.key, but not ca.key, makes an authority of that key; the earlier authority has signed a certificate for it."""
    federation.join()
    stolen = load_pem_private_key(federation.server.key.read_bytes(), None)
    constraints = keys.x509.BasicConstraints(ca=True, path_length=0)
    false = keys._signed(stolen, keys._AUTHORITY, stolen.public_key(), datetime.now(UTC) + timedelta(days=9), constraints)
    federation.kit.authority.write_text(keys.as_text(false))
    federation.kit.endorsements.write_bytes(federation.server.certificate.read_bytes())
    with pytest.raises(FedDPError, match=CHANGED):
        federation.join()


def test_a_revocation_takes_effect_and_stays(federation):
    federation.join()
    before = (federation.kit.folder / "sites" / "celle.pub").read_bytes()
    federation.kit.revoke("celle")
    roster = federation.join()
    assert roster.problems == {"celle": "it was revoked"}
    assert len(roster.sites) == 5
    (federation.kit.folder / "revoked" / "celle.pub").unlink()
    (federation.kit.folder / "sites" / "celle.pub").write_bytes(before)
    assert federation.join().problems == {"celle": "it was revoked"}
    assert federation.join(federation.kit.roster_fingerprint).problems == {"celle": "it was revoked"}
    federation.admit("celle")
    assert not federation.join(federation.kit.roster_fingerprint).problems


def test_a_key_that_expires_is_left_out_and_a_site_whose_own_key_is_over_says_so(federation, later):
    federation.admit("berlin", days=2)
    federation.admit("celle", days=1)
    assert not federation.join().problems
    later(86_400)
    assert list(federation.join().problems) == ["celle"]
    later(86_400)
    with pytest.raises(FedDPError, match="the key of 'berlin' must be valid, but it expired at"):
        federation.join()
    later(-86_400)
    federation.kit.revoke("berlin")
    with pytest.raises(FedDPError, match="the key of 'berlin' must be valid, but it was revoked"):
        federation.join()


@pytest.mark.parametrize("keep", [0, 1, 100, -20])
def test_a_cut_off_record_of_the_roster_is_refused_and_words_repair_it(federation, keep):
    federation.join()
    path = federation.folder / "state" / JOINED
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FedDPError, match=f"{JOINED} must hold the roster that this site joined"):
        federation.join()
    federation.join(federation.kit.roster_fingerprint)
    federation.join()


def test_no_run_can_write_over_the_record(federation):
    assert not JOINED.removesuffix(".json").isalnum()


def test_files_of_the_kit_that_are_cut_off_are_refused_in_one_line(federation):
    federation.sign("berlin")
    for name in ("ca.crt", "federation.json", "sites/celle.pub", "signatures/berlin.json"):
        path = federation.kit.folder / name
        before = path.read_bytes()
        path.write_bytes(before[: len(before) // 2])
        with pytest.raises(FedDPError, match=path.name) as refused:
            federation.join()
        assert "\n" not in str(refused.value)
        path.write_bytes(before)


def test_a_signature_in_the_file_of_another_site_is_refused(federation):
    federation.sign("berlin")
    folder = federation.kit.folder / "signatures"
    (folder / "berlin.json").rename(folder / "celle.json")
    with pytest.raises(FedDPError, match=r"signatures/celle\.json must be the file of the site that it names, got that of 'berlin'"):
        federation.join()


def test_a_kit_without_this_site_is_refused(federation):
    federation.remove("berlin")
    with pytest.raises(FedDPError, match="this site, 'berlin', must be in the roster of its kit"):
        federation.join()
    assert not (federation.folder / "state" / JOINED).exists()


def test_a_stranger_cannot_sign(federation):
    private, _ = write_site_key(federation.folder, "stranger")
    federation.folder.joinpath("stranger.pub").unlink()
    with pytest.raises(FedDPError, match="--key must belong to a site of this federation"):
        federation.sign(private.stem)
