"""A site's key and its validity, as one line that nobody can change."""

import shutil
import subprocess
import time

import pytest

from feddp_kmeans import FedDPError
from feddp_kmeans.network.deployment.keys import renew_site_key, write_site_key
from feddp_kmeans.network.secure_sum.identity import load_identity, load_public, new_identity, public_line
from feddp_kmeans.network.site_key import SiteKey, read_site_key, stated_line, when


@pytest.fixture
def public(tmp_path):
    return write_site_key(tmp_path, "berlin", days=10)[1]


def test_the_line_is_an_openssh_key_with_a_statement(public, tmp_path):
    known = read_site_key(public)
    assert known.key == load_public(public) == load_identity(tmp_path / "berlin.key").public_key()
    assert known.problem() is None
    assert abs(known.until - time.time() - 10 * 86_400) < 60
    assert when(known.until) in public.read_text()


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not on this machine")
def test_ssh_keygen_reads_the_line(public):
    shown = subprocess.run(["ssh-keygen", "-lf", public], check=True, capture_output=True, text=True).stdout
    assert "feddp-key berlin" in shown


def test_a_key_is_valid_from_its_first_second_to_its_last(public):
    known = read_site_key(public)
    assert known.problem(known.since) is None
    assert known.problem(known.until) is None
    assert "is not valid before" in known.problem(known.since - 1)
    assert f"it expired at {when(known.until)}" in known.problem(known.until + 1)


def test_a_key_that_may_not_be_used_says_why(public):
    known = read_site_key(public)
    with pytest.raises(FedDPError, match="the key of 'berlin' must be valid, but it was revoked"):
        read_site_key(public, revoked=True).usable()
    with pytest.raises(FedDPError, match=r"the key of 'berlin' must be valid, but it expired at 1970-01-01T00:00:02Z\."):
        SiteKey("berlin", known.line, 1, 2).usable()


def test_a_key_of_ssh_keygen_has_no_end(tmp_path):
    line = public_line(new_identity().public_key())
    for comment in ("", " somebody@somewhere", " berlin from here"):
        (tmp_path / "berlin.pub").write_text(f"{line}{comment}\n")
        assert read_site_key(tmp_path / "berlin.pub") == SiteKey("berlin", line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" until 2", " until 3"),
        (" from 2", " from 1"),
        (" signed M", " signed N"),
        (" signed ", " sealed "),
        (" until 2", " until x"),
        (" until 2", " until 29999999"),
    ],
)
def test_a_statement_that_was_changed_is_refused(public, old, new):
    content = public.read_text()
    assert old in content
    public.write_text(content.replace(old, new))
    with pytest.raises(FedDPError, match=r"berlin\.pub must state the name and the validity of its key, signed with it, got"):
        read_site_key(public)


def test_a_statement_that_was_cut_off_is_refused_wherever_it_was_cut(public):
    content = public.read_text().strip()
    for end in range(content.index("feddp-key") + 1, len(content), 7):
        public.write_text(content[:end])
        with pytest.raises(FedDPError, match=r"berlin\.pub must"):
            read_site_key(public)


def test_a_statement_under_another_key_or_another_name_is_refused(public, tmp_path):
    _, _, statement = public.read_text().split(maxsplit=2)
    other = tmp_path / "other.pub"
    other.write_text(f"{public_line(new_identity().public_key())} {statement}")
    with pytest.raises(FedDPError, match="got the key of 'berlin'"):
        read_site_key(other)
    public.write_bytes(other.read_bytes())
    with pytest.raises(FedDPError, match="got a signature or times that are not its own"):
        read_site_key(public)
    paris = tmp_path / "paris.pub"
    paris.write_text(f"{stated_line('berlin', new_identity(), 1)}\n".replace("feddp-key berlin", "feddp-key paris"))
    with pytest.raises(FedDPError, match="got a signature or times that are not its own"):
        read_site_key(paris)


def test_only_the_valid_earlier_key_of_the_same_site_vouches_for_a_new_one(public, tmp_path):
    earlier = read_site_key(public)
    private, renewed, kept = renew_site_key(tmp_path, "berlin")
    new = read_site_key(renewed)
    assert new.renews(earlier)
    assert not earlier.renews(new)
    assert not new.renews(new)
    assert load_identity(kept).public_key() == earlier.key
    assert load_identity(private).public_key() == new.key != earlier.key
    assert not new.renews(SiteKey("berlin", earlier.line, 1, 2))
    assert not new.renews(SiteKey("berlin", earlier.line, revoked=True))
    assert not new.renews(SiteKey("paris", earlier.line))
    _, alone = write_site_key(tmp_path, "paris")
    assert not read_site_key(alone).renews(SiteKey("paris", earlier.line))


def test_a_second_renewal_waits_until_the_first_is_known(public, tmp_path):
    renew_site_key(tmp_path, "berlin")
    before = (tmp_path / "berlin.key").read_bytes()
    with pytest.raises(FedDPError, match=r"berlin\.old\.key must not exist already"):
        renew_site_key(tmp_path, "berlin")
    assert (tmp_path / "berlin.key").read_bytes() == before


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_a_key_for_no_time_or_for_ever_is_not_made(tmp_path, days):
    for make in (write_site_key, renew_site_key):
        with pytest.raises(FedDPError, match=r"--days must be from 1 to 3650|berlin\.key must be a private key file"):
            make(tmp_path, "berlin", days)
    assert not list(tmp_path.glob("*.key"))
