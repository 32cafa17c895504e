"""``feddp fit --profile``: what columns say about the new clusters, for a share of the fit's budget."""

import logging
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from feddp_kmeans.algorithm.settings import NoiseName, Settings
from feddp_kmeans.cli import options
from feddp_kmeans.cli.after_run import AfterRun, asked_federation, clustered_columns
from feddp_kmeans.cli.profile import names_of, show_profile
from feddp_kmeans.tables.reading import Reading
from feddp_kmeans.tables.stated_columns import StatedColumns

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from feddp_kmeans.federation.base import Federation
    from feddp_kmeans.privacy.plan import Plan
    from feddp_kmeans.tables.inputs import Inputs
    from feddp_kmeans.tables.schema import ProfileSchema


def shared_out(settings: Settings, share: float) -> tuple[Settings, float]:
    """Return the settings of a fit that leaves a share of its budget to a profile, and the epsilon of that.

    All noise is Gaussian, so that the two together cost what was asked for, and no more.
    """
    from feddp_kmeans.privacy.accounting import shares_of_total

    of_fit, of_profile = shares_of_total(settings.epsilon, settings.delta, [1 - share, share])
    told = f"the clusters have epsilon {of_fit:.4g} and their profile {of_profile:.4g}, which together cost epsilon {settings.epsilon:g}"
    log.info("Of the budget, %s", told)
    return replace(settings, epsilon=of_fit, noise=NoiseName.GAUSSIAN), of_profile


@dataclass(frozen=True)
class FitProfile:
    """The profile that a fit is asked for, made ready before anything is released."""

    schema: "ProfileSchema"
    federation: "Federation"
    epsilon: float
    settings: Settings
    """Those of the fit."""

    @classmethod
    def open(
        cls,
        columns: str,
        epsilon: float,
        settings: Settings,
        inputs: "Inputs",
        clients: options.Where,
        server: Path | None,
        stated: StatedColumns,
        *,
        client_column: str | None,
        skip_broken: bool,
        engine: str | None,
        reading: Reading,
    ) -> "FitProfile":
        """Find out what the columns hold, clustered or left out by ``--ignore``, and read the clients' tables once more for them."""
        from feddp_kmeans.profiling import profile_schema
        from feddp_kmeans.tables.inputs import stated_schema

        given = stated_schema(clients, replace(stated, ignore=()), client_column=client_column, reading=reading, server=server)
        schema = profile_schema(clustered_columns(inputs), names_of(columns), given)
        federation = asked_federation(clients, schema, client_column, engine, skip_broken=skip_broken, reading=reading)
        return cls(schema, federation, epsilon, settings)

    def plan(self) -> "Plan":
        """Return the plan, as it is known before the number of clusters is."""
        from feddp_kmeans.questions import question_plan

        how = {"n_clients": self.federation.n_clients, "k": self.settings.largest_k, "client_size": self.settings.client_size or 1}
        return question_plan(self.schema, self.settings.unit, self.epsilon, self.settings.delta, **how)

    def carry_out(self, after: AfterRun) -> None:
        """Ask about the clusters of the run, or go on where that stopped; do nothing if the answer is there."""
        from feddp_kmeans.questions import Question
        from feddp_kmeans.report.about import PROFILE, read_told
        from feddp_kmeans.report.finished_run import read_result, read_run

        path = after.made / PROFILE
        if read_told(path, read_result(after.made)) is not None:
            return
        path.unlink(missing_ok=True)
        question = Question(self.schema, read_run(after.made), self.settings.unit, self.settings.client_size or 1)
        plan = question.plan(after.epsilon, after.delta, self.federation.n_clients)
        after.carry_out(self.federation, plan, path, question.profile, show_profile, f"--resume {after.made}")


def forget_profile(folder: Path) -> None:
    """Remove what an earlier run in this folder began to ask, before a new one replaces its clusters."""
    from feddp_kmeans.report.about import PROFILE

    shutil.rmtree(folder / f"{PROFILE}.run", ignore_errors=True)
