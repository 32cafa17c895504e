"""A federation of key files in a folder, as its server and its sites have it."""

import shutil

from feddp_kmeans.network.deployment.agreement import agreed_roster
from feddp_kmeans.network.deployment.keys import renew_site_key, write_site_key
from feddp_kmeans.network.deployment.kit import make_federation, read_kit
from feddp_kmeans.network.deployment.signatures import sign_roster
from feddp_kmeans.network.secure_sum.identity import load_identity
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.privacy.unit import PrivacyUnit

SITES = ("aachen", "berlin", "celle", "dresden", "erfurt")


class Federation:
    """The server's folder, the keys of all sites, and what ``berlin`` thinks of the kit that it is given."""

    def __init__(self, folder, sites=SITES, passphrase=None):
        self.folder = folder
        self.server = make_federation(folder / "federation", ["server.example.org"], 9443, passphrase)
        for name in sites:
            self.admit(name)

    @property
    def kit(self):
        return read_kit(self.server.kit.folder)

    def key(self, name):
        return load_identity(self.folder / f"{name}.key")

    def admit(self, name, days=825):
        """Make a site's key, again if there is one, and give it to the server."""
        for end in ("key", "pub"):
            (self.folder / f"{name}.{end}").unlink(missing_ok=True)
        _, public = write_site_key(self.folder, name, days)
        shutil.copy(public, self.kit.folder / "sites")

    def renew(self, name):
        """Renew a site's key and give it to the server."""
        (self.folder / f"{name}.old.key").unlink(missing_ok=True)
        _, public, _ = renew_site_key(self.folder, name)
        shutil.copy(public, self.kit.folder / "sites")

    def remove(self, name):
        (self.kit.folder / "sites" / f"{name}.pub").unlink()

    def sign(self, *names):
        for name in names:
            sign_roster(self.kit, self.key(name))

    def join(self, words=None, **policy):
        """Return the roster that berlin accepts."""
        return agreed_roster(self.kit, "berlin", self.folder / "state", Policy(PrivacyUnit.POINT, 1.0, **policy), words)
