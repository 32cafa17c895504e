"""What the holder of points does with released centers: labels, distances and costs. They are exact, so they are not private."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from feddp_kmeans._typing import FloatArray, IntArray
from feddp_kmeans.algorithm.clustering import Clustering
from feddp_kmeans.algorithm.column_units import ColumnUnits
from feddp_kmeans.fit_inputs import pooled
from feddp_kmeans.silos.batches import finite_rows
from feddp_kmeans.silos.memory import as_numbers
from feddp_kmeans.tables.engines import is_spark, spark_labels
from feddp_kmeans.tables.frames import encoded
from feddp_kmeans.tables.schema import Schema


def nearest_centers(points: Any, centers: FloatArray) -> IntArray:
    """Return the index of the nearest center for each row of points, which may be sparse; -1 for a row with a NaN or an infinity."""
    finite = finite_rows(points)
    labels = np.full(len(finite), -1, dtype=np.int64)
    if finite.any():
        labels[finite] = pairwise_distances_argmin(points[finite], centers)
    return labels


def center_distances(points: Any, centers: FloatArray) -> FloatArray:
    """Return the distance of each row of points to each center; NaN for a row with a NaN or an infinity."""
    finite = finite_rows(points)
    distances = np.full((len(finite), len(centers)), np.nan)
    if finite.any():
        distances[finite] = euclidean_distances(points[finite], centers)
    return distances


@dataclass(frozen=True)
class Labels:
    """Centers, and the units in which distances from them are taken."""

    centers: FloatArray
    units: ColumnUnits | None

    def in_units(self, points: Any) -> tuple[Any, FloatArray]:
        """Return points and centers in these units."""
        return (points, self.centers) if self.units is None else (self.units.read(points), self.units.read(self.centers))

    def __call__(self, points: Any) -> IntArray:
        """Return the index of the nearest center for each row."""
        return nearest_centers(*self.in_units(points))


class AssignsToCenters(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """The half of the estimator that works on ``cluster_centers_``, once ``fit`` has released them."""

    cluster_centers_: FloatArray
    clustering_: Clustering
    n_features_in_: int
    schema_: Schema | None

    def fit_predict(self, X: Any, y: None = None, **fit_params: Any) -> IntArray:
        """Fit, then return the cluster of each row of X. The labels are not private: they are for the holder of the data only.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> labels = FedDPKMeans(2, random_state=0).fit_predict(X)
        >>> labels.shape, bool(labels[0] == labels[-1])
        ((2000,), False)

        """
        return self.fit(X, y, **fit_params).predict(X)  # type: ignore[no-any-return]

    def fit_transform(self, X: Any, y: None = None, **fit_params: Any) -> FloatArray:
        """Fit, then return the distance of each row of X to each center.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> FedDPKMeans(2, random_state=0).fit_transform(X).shape
        (2000, 2)

        """
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> Any:
        """Return the index of the nearest center for each row, in the units of ``scale_``.

        It is -1 for a row with a NaN or an infinity, unless ``fit`` found what to fill in for it. Of a Spark data frame, return the
        frame with the column "cluster", which Spark computes.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> model = FedDPKMeans(2, random_state=0).fit(X)
        >>> model.predict([[1.0, 1.0], [8.0, 8.0]]).shape
        (2,)

        """
        if is_spark(X):
            check_is_fitted(self)
            names, labels = getattr(self, "feature_names_in_", None), Labels(self.cluster_centers_, self.clustering_.units)
            return spark_labels(X, getattr(self, "schema_", None), names, self.n_features_in_, labels)
        return nearest_centers(*self._read(X))

    def transform(self, X: Any) -> FloatArray:
        """Return the distance of each row to each center, in the units of ``scale_``; NaN where ``predict`` returns -1.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> model = FedDPKMeans(2, random_state=0).fit(X)
        >>> bool((model.transform(X[:5]).argmin(axis=1) == model.predict(X[:5])).all())
        True

        """
        return center_distances(*self._read(X))

    def score(self, X: Any, y: None = None) -> float:  # noqa: ARG002
        """Return minus the k-means cost of X under the centers. Computed from X exactly: not private.

        Examples
        --------
        >>> import numpy as np
        >>> from feddp_kmeans import FedDPKMeans
        >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 1000, axis=0)
        >>> two, one = (FedDPKMeans(k, random_state=0).fit(X) for k in (2, 1))
        >>> two.score(X) > one.score(X)
        True

        """
        return -float(np.nansum(np.square(self.transform(X)).min(axis=1)))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: rows with NaN are ordinary input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any) -> tuple[Any, FloatArray]:
        """Return the points of X and the centers, both in the units in which distances are taken."""
        check_is_fitted(self)
        schema = getattr(self, "schema_", None)
        points = pooled(encoded(schema, X))
        if schema is None:  # otherwise it has checked the columns
            points = self._validated(points, dtype=np.float64, reset=False)
        return Labels(self.cluster_centers_, self.clustering_.units).in_units(points)

    def _validated(self, X: Any, *, reset: bool = True, **how: Any) -> Any:
        points = as_numbers(X, "X")
        validate_data(self, X, skip_check_array=True, reset=reset)
        return check_array(points, accept_sparse="csr", ensure_all_finite=False, input_name="X", estimator=self, **how)
