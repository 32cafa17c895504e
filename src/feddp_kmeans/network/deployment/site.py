"""A site as its data holder describes it: data, limits and key. Nothing that a server sends changes it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from feddp_kmeans._json import read_dataclass
from feddp_kmeans.errors import InputError
from feddp_kmeans.network.deployment.agreement import agreed_roster
from feddp_kmeans.network.deployment.kit import read_kit
from feddp_kmeans.network.participant import Participant
from feddp_kmeans.network.receipts import authority_fingerprint
from feddp_kmeans.network.roster import KnownSites, Roster
from feddp_kmeans.network.schema_digests import schema_digests
from feddp_kmeans.network.secure_sum.identity import load_identity
from feddp_kmeans.network.terms import Policy
from feddp_kmeans.privacy.odometer import LIMIT_DELTA, Limit, Odometer
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.silos.batched import SourceSilo
from feddp_kmeans.silos.silo import Silo
from feddp_kmeans.statistics import REGISTRY
from feddp_kmeans.tables.client_files import open_clients
from feddp_kmeans.tables.engines import engine_silo
from feddp_kmeans.tables.reading import AS_THE_HEADER_SAYS, Reading
from feddp_kmeans.tables.schema import Schema
from feddp_kmeans.tables.schema_source import known_names, read_or_learn
from feddp_kmeans.tables.stated_columns import StatedColumns

FORMAT = 1
"""Of a site file."""


@dataclass(frozen=True)
class Site(StatedColumns):
    """One data holder: paths are as seen from its machine."""

    name: str
    data: str
    """A file, a folder or a glob."""
    limit: float
    """Largest epsilon that all runs on these data may spend together."""
    state: str
    """Folder for the state of runs between two messages."""
    odometer: str
    delta: float = LIMIT_DELTA
    unit: str = "point"
    columns: tuple[str, ...] = ()
    """Names of the columns in their order; without a schema and without these, the first file's."""
    skip_broken: bool = False
    """Whether a file that cannot be read counts as one without rows."""
    reading: Reading = AS_THE_HEADER_SAYS
    """May be given as plain data."""
    engine: str | None = None
    """What adds up the rows of Parquet files: spark, dask, or this process."""
    allow_aggregator: bool = False
    allow_simulation: bool = False
    min_sites: int = 2
    """Fewest sites that a secure sum's run must have."""
    threshold: int | None = None
    """Fewest sites that a sum must be made of; None: the least that is safe for the number of sites."""
    colluders: int | None = None
    """Fewest other sites that a run must assume to side with the server; None: a tenth of the sites, and at least one."""
    confirmed: bool | None = None
    """Whether lists of survivors must be confirmed; None: if there are keys to confirm them with."""
    key: str | None = None
    """The site's private key; with it, the kit says who the others are."""
    kit: str | None = None

    def __post_init__(self) -> None:
        Limit(self.limit, self.delta)
        object.__setattr__(self, "reading", Reading.of(self.reading))
        for name, value in vars(self).items():
            if isinstance(value, str) and not value.isprintable():
                raise InputError(f"{name} of a site must be printable text, got {value!r:.80}.")

    def participant(self) -> Participant:
        """Return the client half that answers for this site."""
        return Participant(
            self.name,
            cache(self.read),
            registry=REGISTRY,
            policy=self.policy,
            odometer=Odometer(Path(self.odometer)),
            state=Path(self.state),
            identity=None if self.key is None else load_identity(Path(self.key)),
            roster=None if self.kit is None else lambda: KnownSites(self.roster()),
            schema=cache(lambda: schema_digests(self._encoding())),
            fingerprints=self._fingerprints,
        )

    def roster(self, words: str | None = None) -> Roster:
        """Return the roster in the kit, as it is now; refuse one that this site has not agreed on. A person has compared the words."""
        return agreed_roster(read_kit(Path(self.kit or "")), self.name, Path(self.state), self.policy, words)

    def _fingerprints(self) -> dict[str, str]:
        """Return the fingerprints of the server's authority and of the roster in the kit, as it is now; empty without a kit."""
        if self.kit is None:
            return {}
        kit = read_kit(Path(self.kit))
        return {"server": authority_fingerprint(kit.authority), "roster": kit.roster_fingerprint}

    @property
    def policy(self) -> Policy:
        """Return the conditions under which this site takes part in a run."""
        return Policy(
            PrivacyUnit.parse(self.unit),
            self.limit,
            self.delta,
            allow_aggregator=self.allow_aggregator,
            allow_simulation=self.allow_simulation,
            min_sites=self.min_sites,
            threshold=self.threshold,
            colluders=self.colluders,
            confirmed=self.kit is not None if self.confirmed is None else self.confirmed,
        )

    def read(self) -> Silo:
        """Return the points. Every file is read once here: one that is broken or of the wrong kind is refused before any answer."""
        schema, known = self._encoding(), self.columns or None
        if self.engine is not None:
            return engine_silo(self.engine, self.data, schema, ignore=self.ignore, like=known)
        return SourceSilo(
            open_clients(self.data, schema, ignore=self.ignore, like=known, skip_broken=self.skip_broken, reading=self.reading)
        )

    def _encoding(self) -> Schema | None:
        """Return what this site states about its columns; None for plain numbers."""
        return read_or_learn(None, self, self.ignore, self.reading, known_names(self.data, None, self, self.reading))


def read_site(path: Path) -> Site:
    """Return the site that a file describes; refuse anything else."""
    return read_dataclass(path, "describe a site", FORMAT, lambda given: Site(**given))
