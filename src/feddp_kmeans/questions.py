"""A question about the clusters of a finished run: which columns or words are counted in each. All of it is public."""

from dataclasses import dataclass
from pathlib import Path

from feddp_kmeans.algorithm.cluster_profile import LEAST_SIZE, AskedColumn, Profile, profile_of, profile_plan
from feddp_kmeans.algorithm.cluster_words import ClusterWords, words_of, words_plan
from feddp_kmeans.errors import InputError
from feddp_kmeans.federation.run import Run
from feddp_kmeans.privacy.plan import Plan
from feddp_kmeans.privacy.unit import PrivacyUnit
from feddp_kmeans.profiling import asked_columns
from feddp_kmeans.report.about import PROFILE, WORDS
from feddp_kmeans.report.finished_run import FinishedRun
from feddp_kmeans.tables.schema import ProfileSchema, Schema
from feddp_kmeans.tables.word_columns import WordColumn


def question_plan(
    schema: ProfileSchema, unit: PrivacyUnit, epsilon: float, delta: float, *, n_clients: int, k: int, client_size: int = 1
) -> Plan:
    """Return the plan of the one release that answers a question about k clusters."""
    if (words := word_column(schema)) is None:
        return profile_plan(unit, epsilon, delta, n_clients=n_clients, k=k, asked=asked_columns(schema), bound=client_size)
    return words_plan(unit, epsilon, delta, n_clients=n_clients, k=k, n_words=len(words.listed), most=words.most)


def word_column(schema: ProfileSchema) -> WordColumn | None:
    """Return the column of words; None if columns are asked for."""
    return next((field for field in schema.fields if isinstance(field, WordColumn)), None)


@dataclass(frozen=True)
class Question:
    """What is asked, and of whom."""

    schema: ProfileSchema
    finished: FinishedRun
    unit: PrivacyUnit
    client_size: int = 1
    """Rows of a client that count in full in a profile, where clients are protected."""
    least_size: float = LEAST_SIZE

    def __post_init__(self) -> None:
        if self.schema.clustered != self.finished.columns:
            raise InputError("the question must be about the columns of this run, got one about other columns: make it again.")

    @classmethod
    def read(cls, path: Path, finished: FinishedRun, unit: PrivacyUnit, client_size: int = 1) -> "Question":
        """Return the question in a file that feddp ask wrote."""
        schema = Schema.read(path)
        if not isinstance(schema, ProfileSchema):
            raise InputError(f"--schema must be a question that feddp ask wrote, got the schema {path.name!r:.80}.")
        return cls(schema, finished, unit, client_size)

    @property
    def words(self) -> WordColumn | None:
        """Return the column of words; None if columns are asked for."""
        return word_column(self.schema)

    @property
    def file(self) -> str:
        """Return the name of the file that the answer is written to."""
        return PROFILE if self.words is None else WORDS

    @property
    def asked(self) -> list[AskedColumn]:
        """Return the classes and edges of the columns of a profile."""
        return asked_columns(self.schema)

    def plan(self, epsilon: float, delta: float, n_clients: int) -> Plan:
        """Return the plan of the one release."""
        k = len(self.finished.centers)
        return question_plan(self.schema, self.unit, epsilon, delta, n_clients=n_clients, k=k, client_size=self.client_size)

    def answer(self, run: Run) -> Profile | ClusterWords:
        """Make the release, and return what it tells."""
        return self.profile(run) if self.words is None else self.found_words(run)

    def profile(self, run: Run) -> Profile:
        """Return the profile of columns."""
        centers, units = self.finished.centers, self.finished.units
        return profile_of(run, centers, units, self.asked, bound=self.client_size, least_size=self.least_size)

    def found_words(self, run: Run) -> ClusterWords:
        """Return the words of clusters."""
        assert self.words is not None
        listed, most = list(self.words.listed), self.words.most
        return words_of(run, self.finished.centers, self.finished.units, listed, most, most=most)
