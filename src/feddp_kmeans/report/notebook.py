"""The page of a fitted estimator: written to a file, or shown in a notebook."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from feddp_kmeans._files import write_whole
from feddp_kmeans.errors import InputError
from feddp_kmeans.fit_inputs import column_names
from feddp_kmeans.report.page import render_page
from feddp_kmeans.report.result import result_dict
from feddp_kmeans.report.spent import spent_so_far


@dataclass(frozen=True)
class ReportPage:
    """The page of one result, which a notebook shows in a frame. It loads nothing and runs no script."""

    html: str

    def __repr__(self) -> str:
        """Return what this is, not the whole page."""
        return f"ReportPage({len(self.html):,} characters; write(path) makes a file of it)"

    def _repr_html_(self) -> str:
        frame = 'width="100%" height="800" style="border:1px solid #d0d7de" sandbox title="Private clustering report"'
        return f'<iframe srcdoc="{escape(self.html)}" {frame}></iframe>'

    def write(self, path: str | Path) -> Path:
        """Write the page to a file and return its path."""
        place = Path(path)
        if place.is_dir() or not place.parent.is_dir():
            raise InputError(f"path must be a file in a folder that exists, got {str(path)!r}.")
        write_whole(place, self.html.encode())
        return place


def page_of(model: Any) -> ReportPage:
    """Return the page of a fitted FedDPKMeans."""
    found = model.clustering_
    result = result_dict(
        found,
        columns=column_names(model),
        seed=None if model.random_state is None else int(model.random_state),
        schema=getattr(model, "schema_", None),
        spent=spent_so_far(model.odometer, found.plan),
    )
    return ReportPage(render_page(result))
